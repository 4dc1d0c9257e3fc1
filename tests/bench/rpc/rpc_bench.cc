// Round trips of the smallest TopK against a bare gRPC echo of the same API style, messages and
// transport, measured in turns in one run. Prints CSV; the difference of the medians is what Winnow
// adds to gRPC.
//
//   rpc_bench --server=PATH/winnow-server [--calls=20000]
//
// Excluded: connecting, the first thousand calls of each round's server. Both servers are processes
// of their own with one completion queue; the client is one thread.

#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/testing/requests.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::testing {
namespace {

using Clock = std::chrono::steady_clock;

// ---- the echo
// -------------------------------------------------------------------------------------------------------

// Answers TopK with a fixed reply of the size of a real one.
class EchoCall {
 public:
  EchoCall(v1::IndexerService::AsyncService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue) {
    service_.RequestTopK(&context_, &request_, &writer_, &queue_, &queue_, this);
  }

  void OnEvent(bool ok) {
    if (!ok || replied_) {
      delete this;
      return;
    }
    new EchoCall(service_, queue_);
    replied_ = true;
    auto& output = *response_.mutable_result()->add_outputs();
    output.set_name(v1::OUTPUT_NAME_INDICES);
    *output.mutable_tensor() = Int32Tensor(2, 3, {7, 6, 5, 4, 3, 2});
    response_.mutable_timing()->set_batch_request_count(1);
    writer_.Finish(response_, grpc::Status::OK, this);
  }

 private:
  v1::IndexerService::AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::ServerContext context_;
  v1::TopKRequest request_;
  v1::TopKResponse response_;
  grpc::ServerAsyncResponseWriter<v1::TopKResponse> writer_{&context_};
  bool replied_ = false;
};

int ServeEcho(const char* address) {
  v1::IndexerService::AsyncService service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  auto queue = builder.AddCompletionQueue();
  auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  for (int i = 0; i < 2; ++i) new EchoCall(service, *queue);
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<EchoCall*>(tag)->OnEvent(ok);
  return 0;
}

// ---- processes
// ------------------------------------------------------------------------------------------------------

class Process {
 public:
  explicit Process(std::vector<std::string> arguments) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      execv(argv[0], argv.data());
      _exit(127);
    }
  }
  ~Process() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

std::shared_ptr<grpc::Channel> Connect(const std::string& target) {
  auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10))) {
    std::fprintf(stderr, "rpc_bench: no server on %s\n", target.c_str());
    std::exit(1);
  }
  return channel;
}

// ---- measurements
// ---------------------------------------------------------------------------------------------------

struct Subject {
  const char* name;
  std::unique_ptr<v1::IndexerService::Stub> stub;
  std::vector<double> micros = {};  // of single calls, seen by the client
  std::vector<double> server_micros =
      {};  // of the same, from submission to completion in the server
};

void CallOnce(Subject& subject, const v1::TopKRequest& request, bool record) {
  grpc::ClientContext context;
  v1::TopKResponse response;
  const auto begin = Clock::now();
  const grpc::Status status = subject.stub->TopK(&context, request, &response);
  const std::chrono::duration<double, std::micro> elapsed = Clock::now() - begin;
  if (!status.ok()) {
    std::fprintf(stderr, "rpc_bench: %s: %s\n", subject.name, status.error_message().c_str());
    std::exit(1);
  }
  if (!record) return;
  subject.micros.push_back(elapsed.count());
  subject.server_micros.push_back(response.timing().total_duration().nanos() * 1e-3);
}

struct AsyncCall {
  std::unique_ptr<grpc::ClientContext> context;
  v1::TopKResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::TopKResponse>> reader;

  void Start(Subject& subject, const v1::TopKRequest& request, grpc::CompletionQueue& queue) {
    context = std::make_unique<grpc::ClientContext>();
    reader = subject.stub->AsyncTopK(context.get(), request, &queue);
    reader->Finish(&response, &status, this);
  }
};

// `calls` calls with `in_flight` of them at any time.
double CallsPerSecond(Subject& subject, const v1::TopKRequest& request, int in_flight, int calls) {
  grpc::CompletionQueue queue;
  std::vector<AsyncCall> slots(in_flight);
  const auto begin = Clock::now();
  for (AsyncCall& slot : slots) slot.Start(subject, request, queue);
  void* tag = nullptr;
  bool ok = false;
  for (int done = 0; done < calls; ++done) {
    queue.Next(&tag, &ok);
    auto& slot = *static_cast<AsyncCall*>(tag);
    if (!slot.status.ok()) std::exit(1);
    if (done + in_flight < calls) slot.Start(subject, request, queue);
  }
  return calls / std::chrono::duration<double>(Clock::now() - begin).count();
}

double Quantile(std::vector<double>& values, double quantile) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(quantile * static_cast<double>(values.size() - 1))];
}

void MeasureTransport(const char* transport, Subject& echo, Subject& winnow, int calls) {
  const v1::TopKRequest request = GoodTopK();
  constexpr int kRounds = 20;
  for (Subject* subject : {&echo, &winnow}) {
    for (int i = 0; i < 1000; ++i) CallOnce(*subject, request, false);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Subject* subject : {&echo, &winnow}) {
      for (int i = 0; i < calls / kRounds; ++i) CallOnce(*subject, request, true);
    }
  }
  for (Subject* subject : {&echo, &winnow}) {
    std::printf("latency,%s,%s,1,%.1f,%.1f,\n", transport, subject->name,
                Quantile(subject->micros, 0.5), Quantile(subject->micros, 0.99));
  }
  std::printf("queue_and_device,%s,winnow,1,%.1f,%.1f,\n", transport,
              Quantile(winnow.server_micros, 0.5), Quantile(winnow.server_micros, 0.99));
  std::printf("own_cost,%s,winnow,1,%.1f,,\n", transport,
              Quantile(winnow.micros, 0.5) - Quantile(echo.micros, 0.5));
  for (const int in_flight : {1, 16, 64}) {
    std::vector<double> echo_rates, winnow_rates;
    for (int round = 0; round < 5; ++round) {
      echo_rates.push_back(CallsPerSecond(echo, request, in_flight, calls / 4));
      winnow_rates.push_back(CallsPerSecond(winnow, request, in_flight, calls / 4));
    }
    std::printf("rate,%s,echo,%d,,,%.0f\n", transport, in_flight, Quantile(echo_rates, 0.5));
    std::printf("rate,%s,winnow,%d,,,%.0f\n", transport, in_flight, Quantile(winnow_rates, 0.5));
  }
}

int Main(int argc, char** argv) {
  std::string server;
  int calls = 20'000;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--serve-echo=", 0) == 0) return ServeEcho(argv[i] + 13);
    if (argument.rfind("--server=", 0) == 0) server = argument.substr(9);
    if (argument.rfind("--calls=", 0) == 0) calls = std::atoi(argv[i] + 8);
  }
  if (server.empty() || calls < 1000) {
    std::fprintf(stderr, "usage: rpc_bench --server=PATH/winnow-server [--calls=20000]\n");
    return 2;
  }
  char folder[] = "/tmp/winnow_rpc_bench.XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  const std::string echo_address = std::string("unix:") + folder + "/echo";
  const std::string winnow_address = std::string("unix:") + folder + "/winnow";
  {
    Process echo_process({argv[0], "--serve-echo=" + echo_address});
    Process winnow_process(
        {server, "--backend=cpu", "--log-level=error", "--listen=" + winnow_address});
    Subject echo{"echo", v1::IndexerService::NewStub(Connect(echo_address))};
    Subject winnow{"winnow", v1::IndexerService::NewStub(Connect(winnow_address))};
    std::printf("kind,transport,server,in_flight,p50_us,p99_us,calls_per_second\n");
    MeasureTransport("unix", echo, winnow, calls);
  }
  for (const char* name : {"/echo", "/winnow", "/winnow.lock", ""}) {
    const std::string path = std::string(folder) + name;
    if (unlink(path.c_str()) != 0) rmdir(path.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace winnow::testing

int main(int argc, char** argv) { return winnow::testing::Main(argc, argv); }
