// A decode-like client (one row of 16K scores every 2 ms) alone, and beside a prefill-like one that
// always has 2,048 such rows in flight. Both have their scores in shared memory; the decode client
// takes its 512 indices inline, the prefill client in shared memory, or with --inline-prefill in
// replies of 4 MB. Prints CSV.
//
// The clients are processes of their own: in one process they would share gRPC's poller, and the
// decode client would read the prefill client's replies of 4 MB.
//
//   mixed_load_bench [--seconds=8] [--inline-prefill]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "grpcpp/create_channel.h"
#include "tests/bench/rpc/measurement.h"
#include "tests/bench/rpc/shared_client.h"
#include "tests/integration/server_process.h"

namespace winnow::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kColumns = 16'384, kPrefillRows = 2'048, kK = 512;

// Modes of the other process.
constexpr char kPrefill[] = "--prefill", kPrefillInline[] = "--prefill-inline";

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

// The other process; until it is killed.
[[noreturn]] void Prefill(const std::string& target, bool results_inline) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  Random random(2);
  SharedClient client(
      grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments),
      kPrefillRows, kColumns, random);
  const v1::TopKRequest request = results_inline ? client.TopK(kK) : client.TopKInPlace(kK);
  while (true) Call(client, request);
}

// TopK requests that the server has answered.
int64_t Answered(const ServerProcess& server) {
  v1::GetStatsResponse stats;
  if (!server.Admin()->GetStats(Patient().get(), {}, &stats).ok()) BenchFails("no statistics");
  for (const v1::RpcStats& rpc : stats.rpcs()) {
    if (rpc.method() == "winnow.v1.IndexerService/TopK") return rpc.ok_count();
  }
  BenchFails("the server does not count TopK");
}

int Run(const char* self, double seconds, const char* prefill_mode) {
  ServerProcess server;
  if (!server.running()) BenchFails("the server does not start: " + server.log());
  Random random(1);
  SharedClient decode(server.Connect(server.unix_target()), 1, kColumns, random);
  Decode(decode, 1);  // warm-up
  std::vector<double> alone = Decode(decode, seconds);
  const int64_t before_prefill = Answered(server);
  BenchProcess prefill({self, prefill_mode, server.unix_target()});
  while (Answered(server) < before_prefill + 10)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const int64_t before = Answered(server);
  std::vector<double> beside = Decode(decode, seconds);
  const auto prefills = Answered(server) - before - static_cast<int64_t>(beside.size());
  std::printf("decode,calls,p50_us,p99_us,max_us\n");
  Print("alone", alone);
  Print("beside_prefill", beside);
  std::printf("p99_beside_over_p50_alone,%.1f,,,\n",
              QuantileOf(beside, 0.99) / QuantileOf(alone, 0.5));
  std::printf("prefill_requests_a_second,%.1f,,,\n", static_cast<double>(prefills) / seconds);
  return 0;
}

int Main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], kPrefill) == 0) Prefill(argv[2], false);
  if (argc == 3 && std::strcmp(argv[1], kPrefillInline) == 0) Prefill(argv[2], true);
  const char* prefill_mode = kPrefill;
  double seconds = 8;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--seconds=", 10) == 0) seconds = std::atof(argv[i] + 10);
    if (std::strcmp(argv[i], "--inline-prefill") == 0) prefill_mode = kPrefillInline;
  }
  if (seconds < 1) BenchFails("at least 1 second");
  return Run(argv[0], seconds, prefill_mode);
}

}  // namespace
}  // namespace winnow::testing

int main(int argc, char** argv) { return winnow::testing::Main(argc, argv); }
