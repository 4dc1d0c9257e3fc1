// One attempt of one unary RPC, by name. The seam between the calls' logic and gRPC: grpc_stub.h is
// the real one, observing_stub.h decorates one, tests bring their own.

#ifndef WINNOW_CLIENT_SRC_STUB_H_
#define WINNOW_CLIENT_SRC_STUB_H_

#include <google/protobuf/message_lite.h>

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace winnow::client {

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct AttemptOptions {
  absl::Duration timeout = absl::InfiniteDuration();
  std::stop_token stop;  // cancels the attempt
  bool wait_for_ready = false;
  const Metadata* metadata = nullptr;  // never null when a stub is called
};

// A streaming RPC of any kind: messages there, messages back. Blocking. Errors as of Stub::Call.
// Thread safety: one thread at a time.
class MessageStream {
 public:
  // Cancels what is not finished.
  virtual ~MessageStream() = default;

  // False when the stream takes no more messages; Finish says why.
  virtual bool Write(const google::protobuf::MessageLite& message) = 0;
  virtual void WritesDone() = 0;
  // False when no more messages come; Finish says why.
  virtual bool Read(google::protobuf::MessageLite& message) = 0;
  virtual void Cancel() = 0;
  // Waits for the end; call it once, as the last.
  virtual absl::Status Finish() = 0;
};

// Messages are passed by their base, so that one stub and one decorator serve every RPC; the typed
// pairs are in rpc.h. Errors carry an ErrorInfo when the server sent one. Thread safety: all
// methods may be called from several threads.
class Stub {
 public:
  virtual ~Stub() = default;

  virtual absl::Status Call(const std::string& method, const AttemptOptions& options,
                            const google::protobuf::MessageLite& request,
                            google::protobuf::MessageLite& response) = 0;

  // Calls `done` exactly once, from another thread or before it returns. `request` and `response`
  // stay valid and untouched until then; `options` need not.
  virtual void AsyncCall(const std::string& method, const AttemptOptions& options,
                         const google::protobuf::MessageLite& request,
                         google::protobuf::MessageLite& response,
                         absl::AnyInvocable<void(absl::Status) &&> done) = 0;

  // Never null; one that cannot begin says so by its first Write or Read. The stub outlives it.
  virtual std::unique_ptr<MessageStream> OpenStream(const std::string& method,
                                                    const AttemptOptions& options) = 0;

  // Whether there is a connection to a server now, so that a call that timed out has reached one.
  virtual bool IsConnected() const { return true; }
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_STUB_H_
