#include "server/app/flags.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/app/listener.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// What a value may look like; empty when `Set` took it.
using Expectation = std::string;
using Set = std::function<Expectation(ParsedFlags&, absl::string_view value)>;

struct Flag {
  std::string name;
  std::string value_name;  // empty: a switch
  std::string help;
  Set set;
};

template <typename Integer>
Set Number(Integer ServerConfig::*member) {
  return [member](ParsedFlags& flags, absl::string_view value) -> Expectation {
    return absl::SimpleAtoi(value, &(flags.config.*member)) ? "" : "a whole number";
  };
}

Set Size(int64_t ServerConfig::*member) {
  return [member](ParsedFlags& flags, absl::string_view value) -> Expectation {
    int shift = 0;
    if (absl::ConsumeSuffix(&value, "K")) shift = 10;
    if (absl::ConsumeSuffix(&value, "M")) shift = 20;
    if (absl::ConsumeSuffix(&value, "G")) shift = 30;
    int64_t number = 0;
    if (!absl::SimpleAtoi(value, &number) || number < 0 ||
        number > (std::numeric_limits<int64_t>::max() >> shift)) {
      return "a size such as 1048576, 64M or 1G";
    }
    flags.config.*member = number << shift;
    return "";
  };
}

Set Text(std::string ServerConfig::*member) {
  return [member](ParsedFlags& flags, absl::string_view value) -> Expectation {
    flags.config.*member = std::string(value);
    return "";
  };
}

Set Switch(bool ParsedFlags::*member) {
  return [member](ParsedFlags& flags, absl::string_view value) -> Expectation {
    return absl::SimpleAtob(value, &(flags.*member)) ? "" : "true or false";
  };
}

Expectation SetListeners(ParsedFlags& flags, absl::string_view value) {
  for (absl::string_view listener : absl::StrSplit(value, ',', absl::SkipEmpty())) {
    flags.config.listeners.emplace_back(listener);
  }
  return "";
}

Set Time(absl::Duration ServerConfig::*member) {
  return [member](ParsedFlags& flags, absl::string_view value) -> Expectation {
    return absl::ParseDuration(value, &(flags.config.*member)) ? "" : "a time such as 30s or 2m";
  };
}

Expectation SetLogLevelFlag(ParsedFlags& flags, absl::string_view value) {
  const std::optional<LogLevel> level = ParseLogLevel(value);
  if (!level.has_value()) return "debug, info, warning, error or off";
  flags.config.log_level = *level;
  return "";
}

Expectation SetTcpAdmin(ParsedFlags& flags, absl::string_view value) {
  return absl::SimpleAtob(value, &flags.config.tcp_admin) ? "" : "true or false";
}

std::vector<Flag> ListenFlags() {
  return {
      {"listen", "ADDRESS",
       absl::StrCat("unix:PATH, or HOST:PORT on loopback; repeatable. Default ", DefaultListener()),
       SetListeners},
      {"backend", "KIND", "auto, cuda or cpu. Default auto: a GPU when a usable one answers",
       Text(&ServerConfig::backend)},
      {"device", "N", "number of the GPU. Default 0", Number(&ServerConfig::device)},
      {"threads", "N", "worker threads of the CPU backend. Default 0: one per usable core",
       Number(&ServerConfig::threads)},
      {"launch-slots", "N", "batches in flight at once. Default 4",
       Number(&ServerConfig::launch_slots)},
      {"queues", "N", "polling threads of gRPC. Default 0: one for every four cores, 1 to 4",
       Number(&ServerConfig::queues)},
  };
}

std::vector<Flag> LimitFlags() {
  return {
      {"max-inline-bytes", "SIZE",
       "inline bytes of a request, inputs and outputs each. Default 64M",
       Size(&ServerConfig::max_inline_bytes)},
      {"max-queued-requests", "N", "requests that wait at once. Default 4096",
       Number(&ServerConfig::max_queued_requests)},
      {"max-queued-bytes", "SIZE", "inline bytes of waiting and running requests. Default 1G",
       Size(&ServerConfig::max_queued_bytes)},
      {"max-concurrent-streams", "N", "calls at once on one connection. Default 1024",
       Number(&ServerConfig::max_concurrent_streams)},
      {"max-batch-requests", "N", "requests of one launch. Default 256",
       Number(&ServerConfig::max_batch_requests)},
      {"max-batch-rows", "N", "rows of one launch. Default 8192",
       Number(&ServerConfig::max_batch_rows)},
      {"max-batch-bytes", "SIZE", "input bytes of one launch. Default 256M",
       Size(&ServerConfig::max_batch_bytes)},
      {"buffer-pool-bytes", "SIZE", "memory for clients' buffers. Default 1G",
       Size(&ServerConfig::buffer_pool_bytes)},
      {"staging-pool-bytes", "SIZE",
       "memory for inline inputs, outputs and workspaces. Default 256M",
       Size(&ServerConfig::staging_pool_bytes)},
  };
}

std::vector<Flag> LeaseFlags() {
  return {
      {"max-leases", "N", "leases open at once. Default 1024", Number(&ServerConfig::max_leases)},
      {"max-lease-bytes", "SIZE", "memory of one lease. Default 1G, and no more than the pool",
       Size(&ServerConfig::max_lease_bytes)},
      {"max-lease-resources", "N", "buffers, page tables and plans of one lease. Default 4096",
       Number(&ServerConfig::max_lease_resources)},
      {"max-lease-requests", "N", "waiting and running requests of one lease. Default 1024",
       Number(&ServerConfig::max_lease_requests)},
      {"max-resume-grace", "TIME", "longest time a lease may outlive its stream. Default 5m",
       Time(&ServerConfig::max_resume_grace)},
  };
}

std::vector<Flag> OtherFlags() {
  return {
      {"drain-timeout", "TIME", "longest time to finish queued work after SIGTERM. Default 30s",
       Time(&ServerConfig::drain_timeout)},
      {"log-level", "LEVEL", "debug, info, warning, error or off. Default info", SetLogLevelFlag},
      {"tcp-admin", "", "lets peers on TCP drain the server. Default: on Unix sockets only",
       SetTcpAdmin},
      {"version", "", "prints the version and ends", Switch(&ParsedFlags::version)},
      {"help", "", "prints this and ends", Switch(&ParsedFlags::help)},
  };
}

const std::vector<Flag>& AllFlags() {
  static const auto* flags = [] {
    auto* all = new std::vector<Flag>(ListenFlags());
    for (Flag& flag : LimitFlags()) all->push_back(std::move(flag));
    for (Flag& flag : LeaseFlags()) all->push_back(std::move(flag));
    for (Flag& flag : OtherFlags()) all->push_back(std::move(flag));
    return all;
  }();
  return *flags;
}

// Edits that turn one word into the other.
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

absl::Status Refuse(std::string message, std::string field) {
  return MakeError(absl::StatusCode::kInvalidArgument, message,
                   {.reason = ErrorReason::kValueOutOfRange, .field = std::move(field)});
}

absl::Status UnknownFlag(absl::string_view name) {
  const Flag* nearest = nullptr;
  int distance = 4;  // more edits than that are another word
  for (const Flag& flag : AllFlags()) {
    const int edits = EditDistance(name, flag.name);
    if (edits < distance) {
      nearest = &flag;
      distance = edits;
    }
  }
  return Refuse(nearest == nullptr
                    ? absl::StrCat("there is no flag --", name, "; --help lists all")
                    : absl::StrCat("there is no flag --", name, "; did you mean --", nearest->name),
                absl::StrCat("--", name));
}

absl::Status Apply(const Flag& flag, absl::string_view source, absl::string_view value,
                   ParsedFlags& flags) {
  const Expectation expected = flag.set(flags, value);
  if (expected.empty()) return absl::OkStatus();
  return Refuse(absl::StrCat(source, " is \"", value, "\"; it takes ", expected),
                absl::StrCat("--", flag.name));
}

std::string VariableOf(const Flag& flag) {
  return absl::StrCat("WINNOW_",
                      absl::AsciiStrToUpper(absl::StrReplaceAll(flag.name, {{"-", "_"}})));
}

// Whether the environment may set it: a variable that makes a server print its version would only
// surprise.
bool HasVariable(const Flag& flag) { return flag.name != "help" && flag.name != "version"; }

// Takes one flag, with its value, off the front.
absl::StatusOr<const Flag*> ApplyArgument(absl::Span<const char* const>& arguments,
                                          ParsedFlags& flags) {
  const absl::string_view first = arguments[0];
  arguments.remove_prefix(1);
  absl::string_view argument = first;
  if (!absl::ConsumePrefix(&argument, "--") || argument.empty()) {
    return Refuse(absl::StrCat("\"", first, "\" is no flag; --help lists all"), "");
  }
  const size_t equals = argument.find('=');
  const absl::string_view name = argument.substr(0, equals);
  const auto flag = std::find_if(AllFlags().begin(), AllFlags().end(),
                                 [name](const Flag& known) { return known.name == name; });
  if (flag == AllFlags().end()) return UnknownFlag(name);
  absl::string_view value = "true";
  if (equals != absl::string_view::npos) {
    value = argument.substr(equals + 1);
  } else if (!flag->value_name.empty()) {
    if (arguments.empty()) {
      return Refuse(absl::StrCat("--", name, " needs a value: --", name, "=", flag->value_name),
                    absl::StrCat("--", name));
    }
    value = arguments[0];
    arguments.remove_prefix(1);
  }
  WINNOW_RETURN_IF_ERROR(Apply(*flag, absl::StrCat("--", name), value, flags));
  return &*flag;
}

}  // namespace

absl::StatusOr<ParsedFlags> ParseFlags(
    absl::Span<const char* const> arguments,
    const std::function<const char*(const char* name)>& environment) {
  ParsedFlags flags;
  std::vector<absl::string_view> given;
  while (!arguments.empty()) {
    WINNOW_ASSIGN_OR_RETURN(const Flag* flag, ApplyArgument(arguments, flags));
    given.push_back(flag->name);
  }
  for (const Flag& flag : AllFlags()) {
    if (!HasVariable(flag) || std::find(given.begin(), given.end(), flag.name) != given.end()) {
      continue;
    }
    const std::string variable = VariableOf(flag);
    const char* value = environment(variable.c_str());
    if (value == nullptr || value[0] == '\0') continue;
    WINNOW_RETURN_IF_ERROR(Apply(flag, variable, value, flags));
  }
  return flags;
}

std::string FlagsHelp() {
  std::string text =
      "winnow-server: runs the operations of a sparse-attention indexer for its clients.\n\n"
      "usage: winnow-server [--listen=ADDRESS]... [--backend=KIND] [flags]\n\n";
  for (const Flag& flag : AllFlags()) {
    const std::string name = flag.value_name.empty()
                                 ? absl::StrCat("--", flag.name)
                                 : absl::StrCat("--", flag.name, "=", flag.value_name);
    absl::StrAppendFormat(&text, "  %-30s %s\n", name, flag.help);
  }
  absl::StrAppend(&text,
                  "\nA flag that is not given is read from the environment: --log-level is "
                  "WINNOW_LOG_LEVEL.\nSizes take K, M and G; times s, ms and m. SIGTERM and SIGINT "
                  "drain the server; a second one ends it at once.\n");
  return text;
}

}  // namespace winnow::server
