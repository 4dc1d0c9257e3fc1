// A client that sends sixty slow requests at once and waits: overload_test.cc stops and kills it.

#include <memory>
#include <vector>

#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "tests/integration/slow_work.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  using winnow::v1::ExecuteResponse;
  // A window wide enough for all replies: once it stops reading, its socket is what fills.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 64 << 20);
  const auto channel =
      grpc::CreateCustomChannel(argv[1], grpc::InsecureChannelCredentials(), arguments);
  const auto indexer = winnow::v1::IndexerService::NewStub(channel);
  const winnow::testing::SlowWork work(channel, {}, winnow::testing::TimesForBusyMachine(4));
  grpc::CompletionQueue queue;
  struct Call {
    grpc::ClientContext context;
    ExecuteResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<ExecuteResponse>> reader;
  };
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 60; ++i) {
    auto& call = calls.emplace_back(std::make_unique<Call>());
    call->reader = indexer->AsyncExecute(&call->context, work.request(), &queue);
    call->reader->Finish(&call->response, &call->status, call.get());
  }
  void* tag = nullptr;
  bool ok = false;
  for (size_t i = 0; i < calls.size(); ++i) queue.Next(&tag, &ok);
  return 0;
}
