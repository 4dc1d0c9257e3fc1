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
  // `clock` outlives the stub and its calls.
  ObservingStub(std::unique_ptr<Stub> stub, CallObserver observer, const Clock* clock);

  absl::Status Call(const std::string& method, const AttemptOptions& options,
                    const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite& response) override;
  void AsyncCall(const std::string& method, const AttemptOptions& options,
                 const google::protobuf::MessageLite& request,
                 google::protobuf::MessageLite& response,
                 absl::AnyInvocable<void(absl::Status) &&> done) override;

 private:
  const std::unique_ptr<Stub> stub_;
  const CallObserver observer_;
  const Clock* const clock_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_OBSERVING_STUB_H_
