// The asynchronous calls of a connection that are still under way.

#ifndef WINNOW_CLIENT_SRC_IN_FLIGHT_H_
#define WINNOW_CLIENT_SRC_IN_FLIGHT_H_

#include <cstdint>
#include <stop_token>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace winnow::client {

// Thread safety: safe to call from several threads.
class InFlight {
 public:
  void Begin() {
    absl::MutexLock lock(&mutex_);
    ++count_;
  }
  void End() {
    absl::MutexLock lock(&mutex_);
    --count_;
  }

  // Stopped when the connection closes.
  std::stop_token closing() const { return closing_.get_token(); }
  void Close() { closing_.request_stop(); }
  void AwaitNone() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &InFlight::None));
  }

 private:
  bool None() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ == 0; }

  std::stop_source closing_;
  absl::Mutex mutex_;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_IN_FLIGHT_H_
