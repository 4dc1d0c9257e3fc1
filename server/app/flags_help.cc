#include "server/app/flags_help.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/app/settings.h"

namespace winnow::server {
namespace {

constexpr CommandFlag kCommandFlags[] = {
    {"config", "FILE", "YAML file with settings, named as the flags; also WINNOW_CONFIG"},
    {"print-config", "", "prints every setting in force and where it came from, and ends"},
    {"version", "", "prints the version and ends"},
    {"help", "", "prints this and ends; also -h"},
};

constexpr absl::string_view kHead =
    "winnow-server: runs the operations of a sparse-attention indexer for its clients.\n"
    "\n"
    "Usage: winnow-server [--listen=ADDRESS]... [--backend=KIND] [FLAGS]\n"
    "\n"
    "Without flags it serves this user on a Unix socket, which the client library and 'winnow'\n"
    "find. Defaults are in brackets.\n";

constexpr absl::string_view kTail =
    "\n"
    "SIZE is in bytes; K, M and G are 1024, 1024^2 and 1024^3 of them. TIME needs a unit: 500ms,\n"
    "30s, 5m, 1h. Lists are separated by commas.\n"
    "\n"
    "A flag that is not given is read from the environment (--log-level is WINNOW_LOG_LEVEL), "
    "then\n"
    "from the file of --config (log-level: info).\n"
    "\n"
    "SIGTERM and SIGINT drain the server, a second one ends it at once. SIGUSR1 logs everything,\n"
    "SIGUSR2 what --log-level says again.\n"
    "\n"
    "Exit codes: 0 drained; 1 failed to start; 2 wrong flags, variables or file; 3 the device was\n"
    "lost while serving, start it again; 128 + N ended at once by signal N. One line on standard\n"
    "error says what is wrong and what to do.\n";

constexpr size_t kTextColumn = 29;
constexpr size_t kWidth = 96;

// Adds `help` from the column of texts on, in lines of whole words.
void AppendWrapped(absl::string_view flag, absl::string_view help, std::string& text) {
  std::string line = absl::StrCat("  ", flag);
  if (line.size() >= kTextColumn) {
    absl::StrAppend(&text, line, "\n");
    line.clear();
  }
  line.resize(kTextColumn, ' ');
  bool is_first = true;
  for (const absl::string_view word : absl::StrSplit(help, ' ')) {
    if (!is_first && line.size() + 1 + word.size() > kWidth) {
      absl::StrAppend(&text, line, "\n");
      line.assign(kTextColumn, ' ');
      is_first = true;
    }
    absl::StrAppend(&line, is_first ? "" : " ", word);
    is_first = false;
  }
  absl::StrAppend(&text, line, "\n");
}

std::string FlagText(absl::string_view name, absl::string_view value_name) {
  return value_name.empty() ? absl::StrCat("--", name) : absl::StrCat("--", name, "=", value_name);
}

std::string DefaultText(const Setting& setting) {
  if (!setting.default_text.empty()) return setting.default_text;
  const std::string value = absl::StrJoin(setting.get(ServerConfig{}), ",");
  return value.empty() ? "none" : value;
}

}  // namespace

absl::Span<const CommandFlag> CommandFlags() { return kCommandFlags; }

std::string FlagsHelp() {
  std::string text(kHead);
  std::string group;
  for (const Setting& setting : AllSettings()) {
    if (setting.group != group) absl::StrAppend(&text, "\n", setting.group, ":\n");
    group = setting.group;
    AppendWrapped(FlagText(setting.name, setting.value_name),
                  absl::StrCat(setting.help, " [", DefaultText(setting), "]"), text);
  }
  absl::StrAppend(&text, "\nOther:\n");
  for (const CommandFlag& flag : kCommandFlags) {
    AppendWrapped(FlagText(flag.name, flag.value_name), flag.help, text);
  }
  absl::StrAppend(&text, kTail);
  return text;
}

}  // namespace winnow::server
