#include "client/loadgen/arguments.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/option_checks.h"
#include "client/cli/tls_flags.h"
#include "winnow/kernels/plain_number.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

constexpr int kInFlightOfChild = 8;
// The second process has the next one.
constexpr int64_t kMaxSeed = std::numeric_limits<int64_t>::max() - 1;

absl::StatusOr<absl::Duration> ParseTime(const char* flag, const std::string& text) {
  absl::Duration value;
  if (ParsePlainTime(text, value) && value <= absl::Hours(24)) {
    return value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is \"", text, "\"; it takes a time such as 10s, up to 24h"));
}

std::string Or(const std::string& given, const std::string& other) {
  return given.empty() ? other : given;
}

// How long, by flags and by what a trace takes.
absl::Status ResolveTimes(const Arguments& arguments, Settings& settings) {
  RunOptions& run = settings.run;
  const bool traced = settings.trace.has_value();
  const absl::Duration turn = traced ? settings.trace->period / arguments.speed : absl::Seconds(10);
  WINNOW_ASSIGN_OR_RETURN(run.duration, arguments.duration.empty()
                                            ? turn
                                            : ParseTime("--duration", arguments.duration));
  WINNOW_ASSIGN_OR_RETURN(run.warm_up,
                          ParseTime("--warm-up", Or(arguments.warm_up, traced ? "0s" : "1s")));
  WINNOW_ASSIGN_OR_RETURN(run.ramp, ParseTime("--ramp", arguments.ramp));
  WINNOW_ASSIGN_OR_RETURN(run.timeout, ParseTime("--timeout", arguments.timeout));
  WINNOW_ASSIGN_OR_RETURN(settings.step, ParseTime("--step", arguments.step));
  if (!arguments.objective.empty()) {
    WINNOW_ASSIGN_OR_RETURN(settings.objective, ParseTime("--search-p99", arguments.objective));
  }
  if (run.duration < absl::Milliseconds(1) || settings.step < absl::Milliseconds(1)) {
    return absl::InvalidArgumentError("a run takes 1ms or more");
  }
  if (traced &&
      (arguments.rate > 0 || !arguments.objective.empty() || run.ramp > absl::ZeroDuration())) {
    return absl::InvalidArgumentError(
        "--trace brings its own times: it goes with --speed, not with --rate, --ramp or "
        "--search-p99");
  }
  return absl::OkStatus();
}

void DescribeFiles(CLI::App& app, Arguments& arguments) {
  app.add_option("--json", arguments.json, "file for all figures");
  app.add_option("--csv", arguments.csv, "file for the distribution");
  app.add_option("--picture", arguments.picture, "SVG file");
}

}  // namespace

void Describe(CLI::App& app, Arguments& arguments) {
  app.add_option("--target", arguments.target, "unix:PATH or HOST:PORT. Default: the local server");
  cli::AddTlsFlags(app, arguments.tls, "TLS");
  app.add_option("--mix", arguments.mix,
                 "what is sent: topk:ROWSxCOLUMNS:K or amax:ROWSxCOLUMNS:BLOCK, *WEIGHT, commas; a "
                 ".npy file of scores in place of ROWSxCOLUMNS");
  app.add_option("--trace", arguments.trace, "file of recorded requests, sent at their times")
      ->excludes("--mix");
  app.add_option("--speed", arguments.speed, "of a trace: 2 is twice as fast")
      ->transform(cli::Number(0.001, 1000));
  app.add_option("--pattern", arguments.pattern, "scores: uniform, ties, equal or special");
  app.add_option("--rate", arguments.rate,
                 "requests a second, sent when due whatever the answers do; 0: closed loop")
      ->transform(cli::Number(0, 1e6));
  app.add_option("--in-flight", arguments.in_flight,
                 "closed loop: requests in flight, 16 by default; open loop: the most, 4096")
      ->transform(cli::WholeNumber(1, 100000));
  app.add_option("--duration", arguments.duration,
                 "of what is counted, as 10s or 5m; default 10s, or once through the trace");
  app.add_option("--ramp", arguments.ramp, "the load grows from nothing for so long; not counted");
  app.add_option("--warm-up", arguments.warm_up, "sent after that and not counted; default 1s");
  app.add_option("--timeout", arguments.timeout, "of a call");
  app.add_option("--verify", arguments.verify, "share of results that are checked, 0 to 1")
      ->transform(cli::Number(0, 1));
  app.add_option("--chaos", arguments.chaos,
                 "none, cancel, deadline, malformed, churn, lease or slow");
  app.add_option("--search-p99", arguments.objective,
                 "finds the highest rate whose 99th percentile stays below this, as 2ms");
  app.add_option("--step", arguments.step, "duration of each rate of a search");
  app.add_flag("--stream", arguments.streaming, "top-k and maxima over ExecuteStream");
  app.add_option("--seed", arguments.seed, "of data and arrivals")
      ->transform(cli::WholeNumber(0, kMaxSeed));
  app.add_option("--name", arguments.name,
                 "of its leases, for 'winnow leases'; default winnow-stress-PID");
  app.add_option("--device", arguments.device,
                 "number of the device that the leases of --chaos=lease ask for; by default the "
                 "server chooses")
      ->transform(cli::WholeNumber(0, std::numeric_limits<int32_t>::max()));
  app.add_flag("--alone", arguments.alone, "chaos without a second process");
  DescribeFiles(app, arguments);
}

absl::StatusOr<Settings> Resolve(const Arguments& arguments) {
  Settings settings;
  RunOptions& run = settings.run;
  if (arguments.trace.empty()) {
    WINNOW_ASSIGN_OR_RETURN(settings.mix, ParseMix(arguments.mix));
  } else {
    WINNOW_ASSIGN_OR_RETURN(settings.trace, ReadTrace(arguments.trace));
  }
  WINNOW_ASSIGN_OR_RETURN(settings.pattern, ParsePattern(arguments.pattern));
  WINNOW_ASSIGN_OR_RETURN(run.chaos, ParseChaos(arguments.chaos));
  WINNOW_RETURN_IF_ERROR(ResolveTimes(arguments, settings));
  run.rate = arguments.rate;
  run.speed = arguments.speed;
  const bool open_loop =
      arguments.rate > 0 || !arguments.objective.empty() || settings.trace.has_value();
  run.in_flight = arguments.in_flight > 0 ? arguments.in_flight : (open_loop ? 4096 : 16);
  run.verify = arguments.verify;
  run.seed = arguments.seed;
  if (arguments.device.has_value() && run.chaos != Chaos::kLease) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--device is ", *arguments.device,
        "; it goes with --chaos=lease: requests without a lease take the device with the fewest"));
  }
  run.lease_device = arguments.device;
  run.lease_name = Or(arguments.name, absl::StrCat("winnow-stress-", getpid()));
  return settings;
}

client::ClientOptions ClientOptionsOf(const Arguments& arguments) {
  return {.target = arguments.target,
          .tls = cli::TlsOf(arguments.tls),
          .streaming = arguments.streaming,
          .user_agent = "winnow-stress"};
}

std::vector<std::string> ChildArguments(const Arguments& arguments, const Settings& settings) {
  const std::pair<const char*, std::string> flags[] = {
      {"--target", arguments.target},
      {"--tls-ca", arguments.tls.ca_path},
      {"--tls-certificate", arguments.tls.certificate_path},
      {"--tls-key", arguments.tls.key_path},
      {"--tls-server-name", arguments.tls.server_name},
      {"--mix", arguments.trace.empty() ? arguments.mix : ""},
      {"--trace", arguments.trace},
      {"--speed", arguments.trace.empty() ? "" : absl::StrCat(arguments.speed)},
      {"--pattern", arguments.pattern},
      {"--timeout", "1h"},  // of a process that stands still
      {"--chaos", settings.run.chaos == Chaos::kLease ? "lease" : "none"},
      {"--in-flight", absl::StrCat(kInFlightOfChild)},
      {"--duration", "24h"},
      {"--name", settings.run.lease_name},
      {"--device", arguments.device.has_value() ? absl::StrCat(*arguments.device) : ""},
      {"--seed", absl::StrCat(arguments.seed + 1)}};
  std::vector<std::string> words = {"--alone"};
  if (arguments.streaming) words.emplace_back("--stream");
  for (const auto& [flag, value] : flags) {
    if (!value.empty()) words.push_back(absl::StrCat(flag, "=", value));
  }
  return words;
}

}  // namespace winnow::stress
