// A decode-like client (one row of 16K scores every 2 ms) alone, and beside a prefill-like one that
// always has 2,048 such rows in flight. Both have their scores in shared memory. Prints CSV.
//
//   mixed_load_bench [--seconds=8]

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/bench/rpc/measurement.h"
#include "tests/bench/rpc/shared_client.h"
#include "tests/integration/server_process.h"

namespace winnow::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kColumns = 16'384, kPrefillRows = 2'048, kK = 512;

v1::TopKResponse Call(SharedClient& client, const v1::TopKRequest& request) {
  v1::TopKResponse response;
  const grpc::Status status = client.indexer().TopK(Patient().get(), request, &response);
  if (!status.ok()) BenchFails(status.error_message());
  return response;
}

// Latencies in microseconds of calls that are due every 2 ms.
std::vector<double> Decode(SharedClient& client, double seconds) {
  constexpr std::chrono::milliseconds kPeriod(2);
  const v1::TopKRequest request = client.TopK(kK);
  std::vector<double> micros;
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration<double>(seconds);
  for (auto due = begin + kPeriod; due < end; due += kPeriod) {
    std::this_thread::sleep_until(due);
    const auto start = Clock::now();
    Call(client, request);
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return micros;
}

void Print(const char* name, std::vector<double>& micros) {
  std::printf("%s,%zu,%.0f,%.0f,%.0f\n", name, micros.size(), QuantileOf(micros, 0.5),
              QuantileOf(micros, 0.99), QuantileOf(micros, 1.0));
}

int Run(double seconds) {
  ServerProcess server;
  if (!server.running()) BenchFails("the server does not start: " + server.log());
  Random random(1);
  SharedClient decode(server, 1, kColumns, random);
  SharedClient prefill(server, kPrefillRows, kColumns, random);
  Decode(decode, 1);  // warm-up
  std::vector<double> alone = Decode(decode, seconds);
  std::atomic<bool> stop{false};
  std::atomic<int64_t> prefills{0};
  std::thread load([&] {
    const v1::TopKRequest request = prefill.TopK(kK);
    while (!stop) {
      Call(prefill, request);
      ++prefills;
    }
  });
  std::vector<double> beside = Decode(decode, seconds);
  stop = true;
  load.join();
  std::printf("decode,calls,p50_us,p99_us,max_us\n");
  Print("alone", alone);
  Print("beside_prefill", beside);
  std::printf("p99_beside_over_p50_alone,%.1f,,,\n",
              QuantileOf(beside, 0.99) / QuantileOf(alone, 0.5));
  std::printf("prefill_requests_a_second,%.1f,,,\n", prefills / seconds);
  return 0;
}

int Main(int argc, char** argv) {
  double seconds = 8;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--seconds=", 10) == 0) seconds = std::atof(argv[i] + 10);
  }
  if (seconds < 1) BenchFails("at least 1 second");
  return Run(seconds);
}

}  // namespace
}  // namespace winnow::testing

int main(int argc, char** argv) { return winnow::testing::Main(argc, argv); }
