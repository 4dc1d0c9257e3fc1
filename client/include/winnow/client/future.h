// The result of a call that is still under way. std::future has neither a callback nor a way to
// cancel, hence this one.

#ifndef WINNOW_CLIENT_FUTURE_H_
#define WINNOW_CLIENT_FUTURE_H_

#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace winnow::client {

template <typename T>
class Promise;

// What a future's callback is given the result through.
template <typename T>
using ResultCallback = absl::AnyInvocable<void(absl::StatusOr<T>) &&>;

// Owns the right to one result: taken once, by Get or by Then. Moved-from and taken futures are not
// valid(); calling anything but valid() on them aborts. Destroying a future lets the call run on
// and drops its result. Thread safety: as a standard container; Cancel may race with the
// completion.
template <typename T>
class Future {
 public:
  Future() = default;
  Future(Future&&) noexcept = default;
  Future& operator=(Future&&) noexcept = default;

  bool valid() const { return state_ != nullptr; }
  bool ready() const { return state_->WaitUntil(absl::InfinitePast()); }
  // True when the result is there; false when `deadline` (of the wall clock) passed first.
  bool WaitUntil(absl::Time deadline) const { return state_->WaitUntil(deadline); }
  bool WaitFor(absl::Duration timeout) const { return WaitUntil(absl::Now() + timeout); }

  // Blocks until the result is there, which the call's own timeout bounds. Must not be called from
  // a callback given to Then: callbacks share the thread that completes calls.
  absl::StatusOr<T> Get() &&;

  // Calls `callback` exactly once with the result: at once in this thread when it is there, else
  // from the thread that completes calls. The callback must not block; it may start other calls.
  void Then(ResultCallback<T> callback) &&;

  // Asks for the call to end early; the result is then Cancelled unless it came first.
  void Cancel() { state_->stop.request_stop(); }

 private:
  friend class Promise<T>;

  struct State {
    // The wall clock is right here: the wait is the caller's, not part of the call's deadline.
    bool WaitUntil(absl::Time deadline) {
      absl::MutexLock lock(&mutex);
      return mutex.AwaitWithDeadline(absl::Condition(this, &State::HasResult), deadline);
    }
    bool HasResult() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return result.has_value(); }

    std::stop_source stop;
    absl::Mutex mutex;
    std::optional<absl::StatusOr<T>> result ABSL_GUARDED_BY(mutex);
    ResultCallback<T> callback ABSL_GUARDED_BY(mutex);
  };

  // Shared between the future and the promise; whichever is last frees it.
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

// The other end: a connection, or the mock of one, sets the result once. Destroying a promise
// without a result gives Cancelled. Thread safety: as a standard container.
template <typename T>
class Promise {
 public:
  Promise() : state_(std::make_shared<State>()) {}
  Promise(Promise&&) noexcept = default;
  Promise& operator=(Promise&&) = delete;
  ~Promise() {
    if (state_ != nullptr) Set(absl::CancelledError("the call was abandoned"));
  }

  // The future of this promise; call once.
  Future<T> future() { return Future<T>(state_); }
  // Stopped by Future::Cancel; the connection may stop it for other reasons.
  std::stop_source stop_source() const { return state_->stop; }

  // Hands over the result and uses the promise up. Runs the callback given to Then in this thread.
  void Set(absl::StatusOr<T> result);

 private:
  using State = typename Future<T>::State;
  std::shared_ptr<State> state_;
};

// A future that holds its result already.
template <typename T>
Future<T> ReadyFuture(absl::StatusOr<T> result) {
  Promise<T> promise;
  Future<T> future = promise.future();
  promise.Set(std::move(result));
  return future;
}

template <typename T>
absl::StatusOr<T> Future<T>::Get() && {
  const std::shared_ptr<State> state = std::move(state_);
  absl::MutexLock lock(&state->mutex);
  state->mutex.Await(absl::Condition(state.get(), &State::HasResult));
  return *std::move(state->result);
}

template <typename T>
void Future<T>::Then(ResultCallback<T> callback) && {
  const std::shared_ptr<State> state = std::move(state_);
  std::optional<absl::StatusOr<T>> result;
  {
    absl::MutexLock lock(&state->mutex);
    if (!state->result.has_value()) {
      state->callback = std::move(callback);
      return;
    }
    result = std::move(state->result);
  }
  std::move(callback)(*std::move(result));
}

template <typename T>
void Promise<T>::Set(absl::StatusOr<T> result) {
  const std::shared_ptr<State> state = std::move(state_);
  ResultCallback<T> callback;
  {
    absl::MutexLock lock(&state->mutex);
    if (state->callback == nullptr) {
      state->result = std::move(result);
      return;
    }
    callback = std::move(state->callback);
  }
  std::move(callback)(std::move(result));
}

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_FUTURE_H_
