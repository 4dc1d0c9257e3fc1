#include "client/src/observing_stub.h"

#include <utility>

namespace winnow::client {
namespace {

class ObservedStream final : public MessageStream {
 public:
  ObservedStream(std::unique_ptr<MessageStream> stream, std::string method,
                 const CallObserver& observer, const Clock* clock)
      : stream_(std::move(stream)),
        method_(std::move(method)),
        observer_(observer),
        clock_(clock),
        start_(clock->Now()) {}

  bool Write(const google::protobuf::MessageLite& message) override {
    return stream_->Write(message);
  }
  void WritesDone() override { stream_->WritesDone(); }
  bool Read(google::protobuf::MessageLite& message) override { return stream_->Read(message); }
  void Cancel() override { stream_->Cancel(); }
  absl::Status Finish() override {
    absl::Status status = stream_->Finish();
    observer_({.method = method_, .status = status, .elapsed = clock_->Now() - start_});
    return status;
  }

 private:
  const std::unique_ptr<MessageStream> stream_;
  const std::string method_;
  const CallObserver& observer_;
  const Clock* const clock_;
  const absl::Time start_;
};

}  // namespace

ObservingStub::ObservingStub(Stub* stub, CallObserver observer, const Clock* clock)
    : stub_(stub), observer_(std::move(observer)), clock_(clock) {}

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

std::unique_ptr<MessageStream> ObservingStub::OpenStream(const std::string& method,
                                                         const AttemptOptions& options) {
  return std::make_unique<ObservedStream>(stub_->OpenStream(method, options), method, observer_,
                                          clock_);
}

}  // namespace winnow::client
