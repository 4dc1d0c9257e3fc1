#include "client/src/call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "winnow/client/error.h"
#include "winnow/kernels/status_macros.h"

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

bool MayRepeat(Repeat repeat, const absl::Status& error) {
  if (repeat == Repeat::kNever || !IsTransient(error)) return false;
  return repeat == Repeat::kSafe || GetErrorInfo(error).has_value();
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

absl::StatusOr<absl::Duration> CallProgress::AskGate() {
  if (settings_.gate == nullptr) return absl::ZeroDuration();
  absl::StatusOr<absl::Duration> wait = settings_.gate->Admit();
  if (!wait.ok() || *wait <= absl::ZeroDuration()) return wait;
  last_transient_ = settings_.gate->Waiting();
  const absl::Duration remaining = RemainingTime();
  if (remaining <= absl::ZeroDuration()) return TimeoutError();
  return std::min(*wait, remaining);
}

bool CallProgress::GateRepeats(const absl::Status& status) const {
  return settings_.gate != nullptr && settings_.gate->Judge(status) == CallGate::Verdict::kRepeat;
}

std::optional<absl::Duration> CallProgress::NextAttemptAfter(const absl::Status& error) {
  ++attempts_;
  if (!MayRepeat(settings_.repeat, error) || attempts_ >= settings_.retry.max_attempts) {
    return std::nullopt;
  }
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
    // Why a connection over the network fails takes another one to find out.
    const bool on_this_host = absl::StartsWith(environment_.target, "unix:");
    return absl::UnavailableError(
        absl::StrCat("cannot reach the server at ", environment_.target, ": ", error.message(),
                     on_this_host ? "" : "; DiagnoseConnection, or 'winnow probe', tells why"));
  }
  if (absl::IsDeadlineExceeded(error)) return TimeoutError();
  return error;
}

absl::Status CallProgress::TimeoutError() const {
  const std::string timeout = absl::FormatDuration(settings_.timeout);
  std::string message = environment_.stub->IsConnected()
                            ? absl::StrCat("the call to ", environment_.target,
                                           " took longer than its timeout of ", timeout)
                            : absl::StrCat("no server answered at ", environment_.target,
                                           " within the timeout of ", timeout);
  if (!last_transient_.ok()) {
    absl::StrAppend(&message, "; the attempt before failed: ", last_transient_.message());
  }
  return absl::DeadlineExceededError(message);
}

namespace {

void WaitFor(const CallEnvironment& environment, absl::Duration wait, const std::stop_token& stop) {
  absl::Notification passed;
  environment.clock->After(wait, stop, [&passed] { passed.Notify(); });
  passed.WaitForNotification();
}

}  // namespace

absl::Status RunCall(const CallEnvironment& environment, const CallSettings& settings,
                     const std::stop_token& stop, const google::protobuf::MessageLite& request,
                     google::protobuf::MessageLite& response) {
  CallProgress progress(environment, settings);
  while (true) {
    if (stop.stop_requested()) return CancelledByCaller();
    WINNOW_ASSIGN_OR_RETURN(const absl::Duration gate_wait, progress.AskGate());
    if (gate_wait > absl::ZeroDuration()) {
      WaitFor(environment, gate_wait, stop);
      continue;
    }
    const AttemptOptions options = NextAttempt(progress, settings, stop);
    if (options.timeout <= absl::ZeroDuration()) return progress.TimeoutError();
    const absl::Status status = environment.stub->Call(settings.method, options, request, response);
    const bool again = progress.GateRepeats(status);
    if (status.ok()) return status;
    if (stop.stop_requested()) return CancelledByCaller();
    if (again) continue;
    const std::optional<absl::Duration> wait = progress.NextAttemptAfter(status);
    if (!wait.has_value()) return progress.Explain(status);
    WaitFor(environment, *wait, stop);
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
    const absl::StatusOr<absl::Duration> gate_wait = call.progress_.AskGate();
    if (!gate_wait.ok()) return Finish(std::move(self), gate_wait.status());
    if (*gate_wait > absl::ZeroDuration()) return AttemptAfter(std::move(self), *gate_wait);
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
    const bool again = call.progress_.GateRepeats(status);
    if (status.ok()) return Finish(std::move(self), std::move(status));
    if (call.stop_.stop_requested()) return Finish(std::move(self), CancelledByCaller());
    if (again) return Attempt(std::move(self));
    const std::optional<absl::Duration> wait = call.progress_.NextAttemptAfter(status);
    if (!wait.has_value()) return Finish(std::move(self), call.progress_.Explain(status));
    AttemptAfter(std::move(self), *wait);
  }

  static void AttemptAfter(std::unique_ptr<AsyncCall> self, absl::Duration wait) {
    const AsyncCall& call = *self;
    call.environment_.clock->After(
        wait, call.stop_, [self = std::move(self)]() mutable { Attempt(std::move(self)); });
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
