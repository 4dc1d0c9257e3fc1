// The measurements of resident_bench; each prints lines of its CSV.

#ifndef WINNOW_TESTS_BENCH_RPC_RESIDENT_PARTS_H_
#define WINNOW_TESTS_BENCH_RPC_RESIDENT_PARTS_H_

#include <chrono>
#include <string>

#include "tests/bench/rpc/resident_client.h"
#include "tests/integration/server_process.h"

namespace winnow::testing {

struct BenchOptions {
  int64_t calls = 5000;                  // of a latency measurement, of each caller
  std::chrono::milliseconds time{3000};  // of a load
  int clients = 64;
  int64_t prefill_rows = 4096;
};

void PrintHeader();
// The kernel of the decode request without a server, launches back to back and one at a time
// (resident_kernel.cc). In `alone`, launch is the host's time to enqueue and round_trip to the end.
struct KernelTimes {
  Samples batch, alone;
};
KernelTimes MeasureKernel(const ResidentClient::Shape& shape);
void PrintKernel();
// Unary calls and streams, one caller and sixteen, one request in flight each.
void MeasureLatency(ServerProcess& server, const BenchOptions& options);
// The same against the echo, also at a decode client's pace, and its rate with all clients.
void MeasureEcho(const std::string& target, const BenchOptions& options);
// All clients with sixteen requests in flight each, alone and beside a prefill client; their slots
// must be those of a call alone.
void MeasureClients(ServerProcess& server, const BenchOptions& options);
// A decode client every millisecond, alone and beside prefill without a pause.
void MeasureSaturation(ServerProcess& server, const BenchOptions& options);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_BENCH_RPC_RESIDENT_PARTS_H_
