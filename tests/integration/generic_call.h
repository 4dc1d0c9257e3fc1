// Calls with the bytes of messages, for services whose protos are not packaged (health, reflection)
// and for bytes that are no message.

#ifndef WINNOW_TESTS_INTEGRATION_GENERIC_CALL_H_
#define WINNOW_TESTS_INTEGRATION_GENERIC_CALL_H_

#include <memory>
#include <optional>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"

namespace winnow::testing {

// One unary call; `method` is "package.Service/Method".
grpc::Status CallWithBytes(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                           const std::string& request, std::string* reply = nullptr);

// A call that sends one message and receives a stream.
class ByteStream {
 public:
  ByteStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
             const std::string& request);
  // Cancels what is still open.
  ~ByteStream();

  // The next message; nullopt at the end of the stream.
  std::optional<std::string> Read();

 private:
  bool Await();

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_GENERIC_CALL_H_
