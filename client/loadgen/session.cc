#include "client/loadgen/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/loadgen/child_load.h"
#include "client/loadgen/workload.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

constexpr int kBisections = 5;
constexpr double kFirstRate = 250, kHighestRate = 1e6;
constexpr absl::Duration kSettling = absl::Seconds(10);  // of a server that has been left alone

void ShowProgress(absl::Duration elapsed, const RunResult& so_far) {
  std::fprintf(stderr, "\r%5.0f s  %10lld ok  p50 %8.1f us  p99 %8.1f us ",
               absl::ToDoubleSeconds(elapsed), static_cast<long long>(so_far.ok),
               absl::ToDoubleMicroseconds(so_far.latency.Quantile(0.5)),
               absl::ToDoubleMicroseconds(so_far.latency.Quantile(0.99)));
}

// What a server still has of a load that is over.
struct Held {
  int64_t requests = 0;
  int64_t leases = 0;
  int64_t bytes = 0;  // of messages, and of what the leases own
  int64_t resident_bytes = 0;
  bool leases_known = true;  // only administrators may list them

  bool nothing() const { return requests == 0 && leases == 0 && bytes == 0; }
};

absl::StatusOr<Held> Ask(const client::Client& client, const std::string& lease_name) {
  Held held;
  WINNOW_ASSIGN_OR_RETURN(const client::ServerStats stats, client.GetStats());
  held.requests = stats.queued_requests + stats.running_requests;
  held.bytes = stats.queued_bytes;
  held.resident_bytes = stats.resident_bytes;
  const auto leases = client.ListLeases();
  held.leases_known = leases.ok();
  if (!leases.ok()) return held;
  for (const client::LeaseDescription& lease : *leases) {
    if (lease.display_name != lease_name) continue;
    ++held.leases;
    held.bytes += lease.used_bytes;
  }
  return held;
}

// As soon as nothing is held, or at last.
absl::StatusOr<Held> AwaitNothing(const client::Client& client, const std::string& lease_name) {
  const absl::Time give_up = absl::Now() + kSettling;
  while (true) {
    WINNOW_ASSIGN_OR_RETURN(const Held held, Ask(client, lease_name));
    if (held.nothing() || absl::Now() > give_up) return held;
    absl::SleepFor(absl::Milliseconds(20));
  }
}

}  // namespace

absl::StatusOr<Session> Session::Create(const Arguments& arguments) {
  WINNOW_ASSIGN_OR_RETURN(Settings settings, Resolve(arguments));
  return Session(arguments, std::move(settings));
}

absl::StatusOr<client::Client> Session::Connect() const {
  return client::Client::Create(ClientOptionsOf(arguments_));
}

absl::StatusOr<bool> Session::Run() {
  WINNOW_ASSIGN_OR_RETURN(client::Client client, Connect());
  WINNOW_ASSIGN_OR_RETURN(const client::ServerInfo info, client.GetServerInfo());
  WINNOW_ASSIGN_OR_RETURN(const client::ServerStats before, client.GetStats());
  const std::string& what = settings_.trace.has_value() ? arguments_.trace : arguments_.mix;
  std::fprintf(stderr, "winnow-stress: %s, %s, seed %llu\n", info.device.kind.c_str(), what.c_str(),
               static_cast<unsigned long long>(settings_.run.seed));
  if (settings_.trace.has_value()) {
    std::fprintf(stderr, "trace: %zu requests in %s; %s\n", settings_.trace->entries.size(),
                 absl::FormatDuration(settings_.trace->period).c_str(),
                 settings_.trace->origin.c_str());
  }
  WINNOW_RETURN_IF_ERROR(settings_.objective > absl::ZeroDuration() ? Search() : RunWithChild());
  std::fputs(Table(points_.back().result).c_str(), stdout);
  WINNOW_RETURN_IF_ERROR(WriteFiles());
  return Judge(client, before.resident_bytes);
}

absl::Status Session::RunOnce(const RunOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(Workload workload,
                          settings_.trace.has_value()
                              ? Workload::OfTrace(*settings_.trace, settings_.pattern, options.seed)
                              : Workload::OfMix(settings_.mix, settings_.pattern, options.seed));
  const bool live = isatty(STDERR_FILENO) != 0;
  WINNOW_ASSIGN_OR_RETURN(RunResult result,
                          RunLoad(
                              options, workload, [this] { return Connect(); },
                              [live](absl::Duration elapsed, const RunResult& so_far) {
                                if (live) ShowProgress(elapsed, so_far);
                              }));
  if (live) std::fputs("\r\33[K", stderr);
  points_.push_back({options.rate, std::move(result)});
  return absl::OkStatus();
}

absl::Status Session::RunWithChild() {
  const Chaos chaos = settings_.run.chaos;
  const bool has_child = (chaos == Chaos::kLease || chaos == Chaos::kSlow) && !arguments_.alone;
  if (!has_child) return RunOnce(settings_.run);
  const bool kills = chaos == Chaos::kLease;
  ChildLoad child(ChildArguments(arguments_, settings_),
                  kills ? ChildLoad::Torment::kKill : ChildLoad::Torment::kStop,
                  settings_.run.seed);
  WINNOW_RETURN_IF_ERROR(RunOnce(settings_.run));
  const ChildLoad::Counts counts = child.counts();
  child_failures_ = counts.failures;
  std::printf("a second process was %s %lld times\n", kills ? "killed" : "stopped",
              static_cast<long long>(counts.torments));
  return absl::OkStatus();
}

bool Session::Holds(const Point& point) const {
  return point.result.errors.empty() && point.result.not_sent == 0 && point.result.ok > 0 &&
         point.result.latency.Quantile(0.99) <= settings_.objective;
}

// Doubles the rate until the objective is missed, then halves the interval. The last point is the
// best that held, run again for the whole duration.
absl::Status Session::Search() {
  RunOptions options = settings_.run;
  options.duration = settings_.step;
  double low = 0, high = 0;
  for (double rate = options.rate > 0 ? options.rate : kFirstRate; rate <= kHighestRate;
       rate *= 2) {
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
  options = settings_.run;
  options.rate = low;
  std::printf("highest rate within %s: %.0f a second\n\n",
              absl::FormatDuration(settings_.objective).c_str(), low);
  return RunOnce(options);
}

absl::Status Session::WriteFiles() const {
  const std::pair<std::string, std::string> files[] = {{arguments_.json, Json(points_)},
                                                       {arguments_.csv, Csv(points_.back().result)},
                                                       {arguments_.picture, Picture(points_)}};
  for (const auto& [path, text] : files) {
    if (path.empty()) continue;
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) return absl::InternalError(absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Session::Judge(const client::Client& client, int64_t bytes_before) const {
  int64_t wrong = 0, unexpected = 0;
  for (const Point& point : points_) {
    wrong += point.result.wrong;
    for (const auto& [name, count] : point.result.unexpected) unexpected += count;
  }
  WINNOW_ASSIGN_OR_RETURN(const Held held, AwaitNothing(client, settings_.run.lease_name));
  std::printf("\nwrong results %lld, unexpected failures %lld, held by the server ",
              static_cast<long long>(wrong), static_cast<long long>(unexpected));
  if (held.nothing()) {
    std::fputs(held.leases_known ? "nothing" : "nothing (leases not listed: no administrator)",
               stdout);
  } else {
    std::printf("%lld REQUESTS, %lld LEASES, %lld BYTES", static_cast<long long>(held.requests),
                static_cast<long long>(held.leases), static_cast<long long>(held.bytes));
  }
  std::printf("; its memory %.1f MB, %.1f MB before\n",
              static_cast<double>(held.resident_bytes) / 1e6,
              static_cast<double>(bytes_before) / 1e6);
  if (child_failures_ > 0) std::fputs("THE SECOND PROCESS ENDED BY ITSELF\n", stdout);
  return wrong == 0 && unexpected == 0 && held.nothing() && child_failures_ == 0;
}

}  // namespace winnow::stress
