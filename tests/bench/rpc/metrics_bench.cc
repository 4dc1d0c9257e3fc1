// What metrics cost a request: the counters and histograms that the server touches for each one,
// through the classes that touch them, from one thread and from all processors at once. A server
// has no switch that turns them off; compare with the time that it spends on a request
// (winnow-stress: 1 / rate of a closed loop at the limit). Prints CSV.
//
//   metrics_bench [--turns=9]

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "server/base/metrics.h"
#include "server/rpc/rpc_meter.h"
#include "server/rpc/stage_meter.h"
#include "tests/bench/rpc/measurement.h"

namespace winnow::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kRequests = 1'000'000;  // of a thread and turn
constexpr char kMethod[] = "winnow.v1.IndexerService/TopK";

struct Metrics {
  server::MetricsRegistry registry;
  server::RpcMeter calls{kMethod, registry};
  server::StageMeter stages{kMethod, registry};
};

// As much as a request that is answered Ok. Durations move through the buckets.
void CountRequest(Metrics& metrics, int64_t number) {
  const absl::Duration step = absl::Nanoseconds(997 * (number % 1024));
  metrics.calls.OnArrival();
  metrics.stages.Observe({.queued = step, .launch = step / 2, .device = step * 2});
  metrics.calls.OnReply(absl::OkStatus(), step * 4);
  metrics.calls.OnGone();
}

// Nanoseconds of one request, of `threads` that do nothing else.
double NanosOfRequest(Metrics& metrics, int threads) {
  std::vector<std::thread> workers;
  const auto start = Clock::now();
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&metrics] {
      for (int64_t number = 0; number < kRequests; ++number) CountRequest(metrics, number);
    });
  }
  for (std::thread& worker : workers) worker.join();
  const double nanos = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  return nanos / static_cast<double>(kRequests);
}

void Print(const char* what, int turns, const std::function<double()>& measure) {
  measure();  // warm-up
  std::vector<double> values;
  for (int turn = 0; turn < turns; ++turn) values.push_back(measure());
  std::printf("%s,%.1f,%.1f\n", what, QuantileOf(values, 0.5), QuantileOf(values, 1.0));
}

int Run(int turns) {
  Metrics metrics;
  const int processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  std::puts("what,median_ns,max_ns");
  Print("request_one_thread", turns, [&] { return NanosOfRequest(metrics, 1); });
  Print("request_all_processors", turns, [&] { return NanosOfRequest(metrics, processors); });
  const int64_t requests = metrics.calls.ok_count();
  const int64_t expected = kRequests * (turns + 1) * (1 + processors);
  if (requests != expected) BenchFails("requests were lost");
  return 0;
}

}  // namespace
}  // namespace winnow::testing

int main(int argc, char** argv) {
  const char* text = argc > 1 && std::strncmp(argv[1], "--turns=", 8) == 0 ? argv[1] + 8 : "9";
  const int turns = std::atoi(text);
  if (turns < 1 || turns > 1000) winnow::testing::BenchFails("--turns takes 1 to 1000");
  return winnow::testing::Run(turns);
}
