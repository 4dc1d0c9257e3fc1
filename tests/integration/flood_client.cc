// A client that sends sixty slow requests at once and waits: overload_test.cc kills it.

#include <memory>
#include <vector>

#include "grpcpp/create_channel.h"
#include "tests/integration/slow_work.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  using winnow::v1::ExecuteResponse;
  const auto channel = grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials());
  const auto indexer = winnow::v1::IndexerService::NewStub(channel);
  const winnow::testing::SlowWork work(channel);
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
