#include "client/src/call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "winnow/client/error.h"

namespace winnow::client {
namespace {

absl::Status CancelledByCaller() { return absl::CancelledError("the caller cancelled the call"); }

AttemptOptions NextAttempt(const CallProgress& progress, const CallSettings& settings,
                           std::stop_token stop) {
  return {.timeout = progress.RemainingTime(),
          .stop = std::move(stop),
          .wait_for_ready = settings.wait_for_ready,
          .metadata = &settings.metadata};
}

}  // namespace

CallProgress::CallProgress(const CallEnvironment& environment, const CallSettings& settings)
    : environment_(environment),
      settings_(settings),
      deadline_(settings.timeout == absl::InfiniteDuration()
                    ? absl::InfiniteFuture()
                    : environment.clock->Now() + settings.timeout) {}

absl::Duration CallProgress::RemainingTime() const {
  return deadline_ == absl::InfiniteFuture() ? absl::InfiniteDuration()
                                             : deadline_ - environment_.clock->Now();
}

std::optional<absl::Duration> CallProgress::NextAttemptAfter(const absl::Status& error) {
  ++attempts_;
  if (!IsTransient(error) || attempts_ >= settings_.retry.max_attempts) return std::nullopt;
  const absl::Duration wait =
      BackoffAfter(settings_.retry, attempts_, environment_.jitter(), error);
  // The error says more than the timeout that a doomed wait would end in.
  if (wait >= RemainingTime()) return std::nullopt;
  last_transient_ = error;
  return wait;
}

absl::Status CallProgress::Explain(const absl::Status& error) const {
  if (GetErrorInfo(error).has_value()) return error;
  if (absl::IsUnavailable(error)) {
    return absl::UnavailableError(
        absl::StrCat("cannot reach the server at ", environment_.target, ": ", error.message()));
  }
  if (absl::IsDeadlineExceeded(error)) return TimeoutError();
  return error;
}

absl::Status CallProgress::TimeoutError() const {
  std::string message =
      absl::StrCat("the call to ", environment_.target, " took longer than its timeout of ",
                   absl::FormatDuration(settings_.timeout));
  if (!last_transient_.ok()) {
    absl::StrAppend(&message, "; the attempt before failed: ", last_transient_.message());
  }
  return absl::DeadlineExceededError(message);
}

absl::Status RunCall(const CallEnvironment& environment, const CallSettings& settings,
                     const std::stop_token& stop, const google::protobuf::MessageLite& request,
                     google::protobuf::MessageLite& response) {
  CallProgress progress(environment, settings);
  while (true) {
    if (stop.stop_requested()) return CancelledByCaller();
    const AttemptOptions options = NextAttempt(progress, settings, stop);
    if (options.timeout <= absl::ZeroDuration()) return progress.TimeoutError();
    const absl::Status status = environment.stub->Call(settings.method, options, request, response);
    if (status.ok()) return status;
    if (stop.stop_requested()) return CancelledByCaller();
    const std::optional<absl::Duration> wait = progress.NextAttemptAfter(status);
    if (!wait.has_value()) return progress.Explain(status);
    absl::Notification passed;
    environment.clock->After(*wait, stop, [&passed] { passed.Notify(); });
    passed.WaitForNotification();
  }
}

namespace {

// Moves from callback to callback: whoever holds the unique_ptr runs the next step.
class AsyncCall {
 public:
  AsyncCall(const CallEnvironment& environment, CallSettings settings, std::stop_token stop,
            AsyncMessages messages, CallDone done)
      : environment_(environment),
        settings_(std::move(settings)),
        progress_(environment, settings_),
        stop_(std::move(stop)),
        messages_(std::move(messages)),
        done_(std::move(done)) {}

  static void Attempt(std::unique_ptr<AsyncCall> self) {
    AsyncCall& call = *self;
    if (call.stop_.stop_requested()) return Finish(std::move(self), CancelledByCaller());
    const AttemptOptions options = NextAttempt(call.progress_, call.settings_, call.stop_);
    if (options.timeout <= absl::ZeroDuration()) {
      return Finish(std::move(self), call.progress_.TimeoutError());
    }
    call.environment_.stub->AsyncCall(call.settings_.method, options, *call.messages_.request,
                                      *call.messages_.response,
                                      [self = std::move(self)](absl::Status status) mutable {
                                        AfterAttempt(std::move(self), std::move(status));
                                      });
  }

 private:
  static void AfterAttempt(std::unique_ptr<AsyncCall> self, absl::Status status) {
    AsyncCall& call = *self;
    if (status.ok()) return Finish(std::move(self), std::move(status));
    if (call.stop_.stop_requested()) return Finish(std::move(self), CancelledByCaller());
    const std::optional<absl::Duration> wait = call.progress_.NextAttemptAfter(status);
    if (!wait.has_value()) return Finish(std::move(self), call.progress_.Explain(status));
    call.environment_.clock->After(
        *wait, call.stop_, [self = std::move(self)]() mutable { Attempt(std::move(self)); });
  }

  static void Finish(std::unique_ptr<AsyncCall> self, absl::Status status) {
    CallDone done = std::move(self->done_);
    AsyncMessages messages = std::move(self->messages_);
    // Nothing of this call may be left when `done` lets the connection end.
    self.reset();
    std::move(done)(std::move(status), std::move(messages));
  }

  const CallEnvironment& environment_;
  const CallSettings settings_;
  CallProgress progress_;
  const std::stop_token stop_;
  AsyncMessages messages_;
  CallDone done_;
};

}  // namespace

void StartCall(const CallEnvironment& environment, CallSettings settings, std::stop_token stop,
               AsyncMessages messages, CallDone done) {
  AsyncCall::Attempt(std::make_unique<AsyncCall>(environment, std::move(settings), std::move(stop),
                                                 std::move(messages), std::move(done)));
}

}  // namespace winnow::client
