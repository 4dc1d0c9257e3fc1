// winnow-stress: sends load to a server and says what it did. Exit code 0 when every verified
// result was right, every failure was one that the mode explains, and the server holds nothing
// afterwards.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/loadgen/load_run.h"
#include "client/loadgen/report.h"
#include "client/loadgen/workload.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

struct Arguments {
  std::string target, mix = "topk:1x8192:512", pattern = "uniform", chaos = "none";
  std::string duration = "10s", warm_up = "1s", timeout = "10s", objective, step = "3s";
  std::string json, csv, picture;
  double rate = 0, verify = 0.01;
  int in_flight = 0;
  uint64_t seed = 1;
};

constexpr int kExitOk = 0, kExitFailed = 1, kExitUsage = 2, kExitUnreachable = 3;
constexpr int kBisections = 5;
constexpr double kFirstRate = 250, kHighestRate = 1e6;

void Describe(CLI::App& app, Arguments& arguments) {
  app.add_option("--target", arguments.target, "unix:PATH or HOST:PORT. Default: the local server");
  app.add_option("--mix", arguments.mix,
                 "what is sent: topk:ROWSxCOLUMNS:K or amax:ROWSxCOLUMNS:BLOCK, *WEIGHT, commas");
  app.add_option("--pattern", arguments.pattern, "scores: uniform, ties, equal or special");
  app.add_option("--rate", arguments.rate,
                 "requests a second, sent when due whatever the answers do; 0: closed loop");
  app.add_option("--in-flight", arguments.in_flight,
                 "closed loop: requests in flight, 16 by default; open loop: the most, 4096")
      ->check(CLI::Range(1, 100000));
  app.add_option("--duration", arguments.duration, "of what is counted, as 10s or 5m");
  app.add_option("--warm-up", arguments.warm_up, "sent before and not counted");
  app.add_option("--timeout", arguments.timeout, "of a call");
  app.add_option("--verify", arguments.verify, "share of results that are checked, 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--chaos", arguments.chaos, "none, cancel, deadline, malformed or churn");
  app.add_option("--search-p99", arguments.objective,
                 "finds the highest rate whose 99th percentile stays below this, as 2ms");
  app.add_option("--step", arguments.step, "duration of each rate of a search");
  app.add_option("--seed", arguments.seed, "of data and arrivals");
  app.add_option("--json", arguments.json, "file for all figures");
  app.add_option("--csv", arguments.csv, "file for the distribution");
  app.add_option("--picture", arguments.picture, "SVG file");
}

absl::Status ParseTime(const char* flag, const std::string& text, absl::Duration& value) {
  if (absl::ParseDuration(text, &value) && value >= absl::ZeroDuration() &&
      value <= absl::Hours(24)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " is \"", text, "\"; it takes a time such as 10s, up to 24h"));
}

class Session {
 public:
  static absl::StatusOr<Session> Create(const Arguments& arguments) {
    Session session;
    session.arguments_ = arguments;
    RunOptions& run = session.run_;
    WINNOW_ASSIGN_OR_RETURN(session.mix_, ParseMix(arguments.mix));
    WINNOW_ASSIGN_OR_RETURN(session.pattern_, ParsePattern(arguments.pattern));
    WINNOW_ASSIGN_OR_RETURN(run.chaos, ParseChaos(arguments.chaos));
    WINNOW_RETURN_IF_ERROR(ParseTime("--duration", arguments.duration, run.duration));
    WINNOW_RETURN_IF_ERROR(ParseTime("--warm-up", arguments.warm_up, run.warm_up));
    WINNOW_RETURN_IF_ERROR(ParseTime("--timeout", arguments.timeout, run.timeout));
    WINNOW_RETURN_IF_ERROR(ParseTime("--step", arguments.step, session.step_));
    if (!arguments.objective.empty()) {
      WINNOW_RETURN_IF_ERROR(ParseTime("--search-p99", arguments.objective, session.objective_));
    }
    if (run.duration < absl::Milliseconds(1) || session.step_ < absl::Milliseconds(1)) {
      return absl::InvalidArgumentError("a run takes 1ms or more");
    }
    run.rate = arguments.rate;
    const bool open_loop = arguments.rate > 0 || !arguments.objective.empty();
    run.in_flight = arguments.in_flight > 0 ? arguments.in_flight : (open_loop ? 4096 : 16);
    run.verify = arguments.verify;
    run.seed = arguments.seed;
    return session;
  }

  absl::StatusOr<int> Run() {
    WINNOW_ASSIGN_OR_RETURN(client::Client client, Connect());
    WINNOW_ASSIGN_OR_RETURN(const client::ServerInfo info, client.GetServerInfo());
    std::fprintf(stderr, "winnow-stress: %s, %s, seed %llu\n", info.device.kind.c_str(),
                 arguments_.mix.c_str(), static_cast<unsigned long long>(run_.seed));
    if (objective_ > absl::ZeroDuration()) {
      WINNOW_RETURN_IF_ERROR(Search());
    } else {
      WINNOW_RETURN_IF_ERROR(RunOnce(run_));
    }
    std::fputs(Table(points_.back().result).c_str(), stdout);
    WINNOW_RETURN_IF_ERROR(WriteFiles());
    return Judge(client);
  }

 private:
  absl::StatusOr<client::Client> Connect() const {
    return client::Client::Create({.target = arguments_.target});
  }

  absl::Status RunOnce(const RunOptions& options) {
    Workload workload(mix_, pattern_, options.seed);
    const bool live = isatty(STDERR_FILENO) != 0;
    WINNOW_ASSIGN_OR_RETURN(
        RunResult result,
        RunLoad(
            options, workload, [this] { return Connect(); },
            [live](absl::Duration elapsed, const RunResult& so_far) {
              if (!live) return;
              std::fprintf(stderr, "\r%5.0f s  %10lld ok  p50 %8.1f us  p99 %8.1f us ",
                           absl::ToDoubleSeconds(elapsed), static_cast<long long>(so_far.ok),
                           absl::ToDoubleMicroseconds(so_far.latency.Quantile(0.5)),
                           absl::ToDoubleMicroseconds(so_far.latency.Quantile(0.99)));
            }));
    if (live) std::fputs("\r\33[K", stderr);
    points_.push_back({options.rate, std::move(result)});
    return absl::OkStatus();
  }

  bool Holds(const Point& point) const {
    return point.result.errors.empty() && point.result.not_sent == 0 && point.result.ok > 0 &&
           point.result.latency.Quantile(0.99) <= objective_;
  }

  // Doubles the rate until the objective is missed, then halves the interval. The last point is the
  // best that held, run again for the whole duration.
  absl::Status Search() {
    RunOptions options = run_;
    options.duration = step_;
    double low = 0, high = 0;
    for (double rate = run_.rate > 0 ? run_.rate : kFirstRate; rate <= kHighestRate; rate *= 2) {
      options.rate = rate;
      WINNOW_RETURN_IF_ERROR(RunOnce(options));
      if (!Holds(points_.back())) {
        high = rate;
        break;
      }
      low = rate;
    }
    for (int i = 0; i < kBisections && high > 0; ++i) {
      options.rate = (low + high) / 2;
      WINNOW_RETURN_IF_ERROR(RunOnce(options));
      (Holds(points_.back()) ? low : high) = options.rate;
    }
    std::fputs((SearchTable(points_) + "\n").c_str(), stdout);
    if (low == 0) {
      std::fputs("no rate met the objective; figures of the lowest\n", stdout);
      return absl::OkStatus();
    }
    options = run_;
    options.rate = low;
    std::printf("highest rate within %s: %.0f a second\n\n",
                absl::FormatDuration(objective_).c_str(), low);
    return RunOnce(options);
  }

  absl::Status WriteFiles() const {
    const std::pair<std::string, std::string> files[] = {
        {arguments_.json, Json(points_)},
        {arguments_.csv, Csv(points_.back().result)},
        {arguments_.picture, Picture(points_)}};
    for (const auto& [path, text] : files) {
      if (path.empty()) continue;
      std::ofstream file(path);
      file << text;
      file.close();
      if (!file) return absl::UnavailableError(absl::StrCat("cannot write ", path));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int> Judge(const client::Client& client) const {
    int64_t wrong = 0, unexpected = 0;
    for (const Point& point : points_) {
      wrong += point.result.wrong;
      for (const auto& [name, count] : point.result.unexpected) unexpected += count;
    }
    WINNOW_ASSIGN_OR_RETURN(const client::ServerStats stats, client.GetStats());
    const int64_t held = stats.queued_requests + stats.running_requests + stats.queued_bytes;
    std::printf("\nwrong results %lld, unexpected failures %lld, held by the server %s, %.1f MB\n",
                static_cast<long long>(wrong), static_cast<long long>(unexpected),
                held == 0 ? "nothing" : "SOMETHING",
                static_cast<double>(stats.resident_bytes) / 1e6);
    return wrong == 0 && unexpected == 0 && held == 0 ? kExitOk : kExitFailed;
  }

  Arguments arguments_;
  RunOptions run_;
  std::vector<Shape> mix_;
  Pattern pattern_ = Pattern::kUniform;
  absl::Duration objective_, step_;
  std::vector<Point> points_;
};

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Sends load to a winnow-server, verifies answers, and measures.", "winnow-stress");
  Describe(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  absl::StatusOr<Session> session = Session::Create(arguments);
  const absl::StatusOr<int> code = session.ok() ? session->Run() : session.status();
  if (code.ok()) return *code;
  std::fprintf(stderr, "winnow-stress: %s\n", std::string(code.status().message()).c_str());
  if (client::IsUnreachable(code.status())) return kExitUnreachable;
  return session.ok() ? kExitFailed : kExitUsage;
}

}  // namespace
}  // namespace winnow::stress

int main(int argc, char** argv) { return winnow::stress::Main(argc, argv); }
