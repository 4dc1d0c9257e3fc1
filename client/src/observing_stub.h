// Reports every attempt to the observer of ClientOptions.

#ifndef WINNOW_CLIENT_SRC_OBSERVING_STUB_H_
#define WINNOW_CLIENT_SRC_OBSERVING_STUB_H_

#include <memory>
#include <string>

#include "client/src/clock.h"
#include "client/src/stub.h"
#include "winnow/client/options.h"

namespace winnow::client {

class ObservingStub final : public Stub {
 public:
  // `stub` and `clock` outlive it and its calls.
  ObservingStub(Stub* stub, CallObserver observer, const Clock* clock);

  absl::Status Call(const std::string& method, const AttemptOptions& options,
                    const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite& response) override;
  void AsyncCall(const std::string& method, const AttemptOptions& options,
                 const google::protobuf::MessageLite& request,
                 google::protobuf::MessageLite& response,
                 absl::AnyInvocable<void(absl::Status) &&> done) override;
  // Reported once, when it is finished.
  std::unique_ptr<MessageStream> OpenStream(const std::string& method,
                                            const AttemptOptions& options) override;
  bool IsConnected() const override { return stub_->IsConnected(); }

 private:
  Stub* const stub_;
  const CallObserver observer_;
  const Clock* const clock_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_OBSERVING_STUB_H_
