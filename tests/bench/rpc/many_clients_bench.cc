// 64 clients at once, each with a lease, a connection and one row of 131,072 scores in shared
// memory, against one request of 64 such rows and 64 bare gRPC echoes made in the same way. Results
// are compared with those of the one request. Then 100,000 of these requests and the server's
// resident memory before and after. Prints CSV.
//
//   many_clients_bench [--rounds=100] [--requests=100000]

#include <grpcpp/completion_queue.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/bench/rpc/echo_server.h"
#include "tests/bench/rpc/measurement.h"
#include "tests/bench/rpc/shared_client.h"
#include "tests/integration/server_process.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int32_t kClients = 64, kColumns = 131'072, kK = 512;

// Calls of several stubs at once, from one thread.
class Burst {
 public:
  void Add(v1::IndexerService::Stub& stub, v1::TopKRequest request) {
    calls_.push_back(std::make_unique<Call>(Call{stub, std::move(request)}));
  }

  // Microseconds from the first call to the last answer.
  double Run() {
    const auto begin = Clock::now();
    for (auto& call : calls_) Start(*call);
    for (size_t done = 0; done < calls_.size(); ++done) Next();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }

  // Each client calls again as soon as it is answered.
  void RunRequests(int64_t count) {
    for (auto& call : calls_) Start(*call);
    for (int64_t done = 0; done < count; ++done) {
      Call& call = Next();
      if (done + static_cast<int64_t>(calls_.size()) < count) Start(call);
    }
  }

  const v1::TopKResponse& response(size_t client) const { return calls_[client]->response; }

 private:
  struct Call {
    v1::IndexerService::Stub& stub;
    v1::TopKRequest request;
    std::unique_ptr<grpc::ClientContext> context;
    v1::TopKResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::TopKResponse>> reader;
  };

  void Start(Call& call) {
    call.context = std::make_unique<grpc::ClientContext>();
    call.reader = call.stub.AsyncTopK(call.context.get(), call.request, &queue_);
    call.reader->Finish(&call.response, &call.status, &call);
  }

  Call& Next() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
    auto& call = *static_cast<Call*>(tag);
    if (!call.status.ok()) BenchFails(call.status.error_message());
    return call;
  }

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Call>> calls_;
};

void CompareResults(const Burst& clients, const Burst& whole) {
  const std::string& all = whole.response(0).result().outputs(0).tensor().inline_data();
  for (int32_t client = 0; client < kClients; ++client) {
    const std::string& own = clients.response(client).result().outputs(0).tensor().inline_data();
    if (all.compare(static_cast<size_t>(client) * kK * 4, kK * 4, own) != 0) {
      BenchFails("client " + std::to_string(client) + " got other results than alone");
    }
  }
}

void MeasureBursts(Burst& clients, Burst& whole, Burst& echoes, int rounds) {
  std::vector<double> clients_micros, whole_micros, echo_micros;
  for (int round = -3; round < rounds; ++round) {
    const double times[] = {whole.Run(), echoes.Run(), clients.Run()};
    CompareResults(clients, whole);
    if (round < 0) continue;  // warm-up
    whole_micros.push_back(times[0]);
    echo_micros.push_back(times[1]);
    clients_micros.push_back(times[2]);
  }
  const double whole_median = QuantileOf(whole_micros, 0.5);
  const double echo_median = QuantileOf(echo_micros, 0.5);
  const double clients_median = QuantileOf(clients_micros, 0.5);
  std::printf("kind,value\n");
  std::printf("one_request_of_64_rows_us,%.0f\n64_echoes_us,%.0f\n64_clients_us,%.0f\n",
              whole_median, echo_median, clients_median);
  std::printf("ratio,%.2f\n", clients_median / (whole_median + echo_median));
}

void MeasureMemory(Burst& clients, const ServerProcess& server, int64_t requests) {
  clients.RunRequests(requests / 10);
  const int64_t before_kib = server.resident_kib();
  const auto begin = Clock::now();
  clients.RunRequests(requests);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const int64_t after_kib = server.resident_kib();
  std::printf("requests,%ld\nrequests_per_second,%.0f\n", requests, requests / seconds);
  std::printf("resident_after_warm_up_kib,%ld\nresident_at_the_end_kib,%ld\n", before_kib,
              after_kib);
}

int Run(const char* self, int rounds, int64_t requests) {
  TempFolder folder;
  const std::string echo_target = "unix:" + folder.Path("echo");
  BenchProcess echo_process({self, "--serve-echo", echo_target});
  ServerProcess server;
  if (!server.running()) BenchFails("the server does not start: " + server.log());
  Random random(1);
  const auto connect = [&server] { return server.Connect(server.unix_target()); };
  SharedClient all(connect(), kClients, kColumns, random);
  std::vector<std::unique_ptr<SharedClient>> clients;
  std::vector<std::unique_ptr<v1::IndexerService::Stub>> stubs;
  Burst client_burst, whole_burst, echo_burst;
  whole_burst.Add(all.indexer(), all.TopK(kK));
  for (int32_t client = 0; client < kClients; ++client) {
    clients.push_back(std::make_unique<SharedClient>(connect(), 1, kColumns, random));
    std::memcpy(clients.back()->scores(), all.scores() + int64_t{client} * kColumns, kColumns * 4);
    client_burst.Add(clients.back()->indexer(), clients.back()->TopK(kK));
    stubs.push_back(v1::IndexerService::NewStub(server.Connect(echo_target)));
    echo_burst.Add(*stubs.back(), GoodTopK());
  }
  MeasureBursts(client_burst, whole_burst, echo_burst, rounds);
  MeasureMemory(client_burst, server, requests);
  return 0;
}

int Main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--serve-echo") == 0)
    return ServeEcho({argv[2]}, EchoPolling::kBare);
  int rounds = 100;
  int64_t requests = 100'000;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--rounds=", 9) == 0) rounds = std::atoi(argv[i] + 9);
    if (std::strncmp(argv[i], "--requests=", 11) == 0) requests = std::atol(argv[i] + 11);
  }
  if (rounds < 1 || requests < 1000) BenchFails("at least 1 round and 1000 requests");
  return Run(argv[0], rounds, requests);
}

}  // namespace
}  // namespace winnow::testing

int main(int argc, char** argv) { return winnow::testing::Main(argc, argv); }
