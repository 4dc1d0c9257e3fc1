// Attempts over a gRPC channel.

#ifndef WINNOW_CLIENT_SRC_GRPC_STUB_H_
#define WINNOW_CLIENT_SRC_GRPC_STUB_H_

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <string>

#include "client/src/completion_thread.h"
#include "client/src/reply.h"
#include "client/src/stub.h"

namespace winnow::client {

// A blocking call polls for its own reply, which saves two thread switches; asynchronous ones
// complete on `completions`.
class GrpcStub final : public Stub {
 public:
  // `completions` outlives the stub and its calls.
  GrpcStub(std::shared_ptr<grpc::Channel> channel, CompletionThread* completions);

  absl::Status Call(const std::string& method, const AttemptOptions& options,
                    const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite& response) override;
  void AsyncCall(const std::string& method, const AttemptOptions& options,
                 const google::protobuf::MessageLite& request,
                 google::protobuf::MessageLite& response,
                 absl::AnyInvocable<void(absl::Status) &&> done) override;
  std::unique_ptr<MessageStream> OpenStream(const std::string& method,
                                            const AttemptOptions& options) override;
  bool IsConnected() const override;

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::TemplatedGenericStub<google::protobuf::MessageLite, Reply> stub_;
  CompletionThread* completions_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_GRPC_STUB_H_
