#include "client/src/observing_stub.h"

#include <utility>

namespace winnow::client {

ObservingStub::ObservingStub(std::unique_ptr<Stub> stub, CallObserver observer, const Clock* clock)
    : stub_(std::move(stub)), observer_(std::move(observer)), clock_(clock) {}

absl::Status ObservingStub::Call(const std::string& method, const AttemptOptions& options,
                                 const google::protobuf::MessageLite& request,
                                 google::protobuf::MessageLite& response) {
  const absl::Time start = clock_->Now();
  absl::Status status = stub_->Call(method, options, request, response);
  observer_({.method = method, .status = status, .elapsed = clock_->Now() - start});
  return status;
}

void ObservingStub::AsyncCall(const std::string& method, const AttemptOptions& options,
                              const google::protobuf::MessageLite& request,
                              google::protobuf::MessageLite& response,
                              absl::AnyInvocable<void(absl::Status) &&> done) {
  auto report = [this, method, start = clock_->Now(),
                 done = std::move(done)](absl::Status status) mutable {
    observer_({.method = method, .status = status, .elapsed = clock_->Now() - start});
    std::move(done)(std::move(status));
  };
  stub_->AsyncCall(method, options, request, response, std::move(report));
}

}  // namespace winnow::client
