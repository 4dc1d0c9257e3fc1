// Time for everything in the server: code asks a Clock, so that tests move time themselves.

#ifndef WINNOW_SERVER_BASE_CLOCK_H_
#define WINNOW_SERVER_BASE_CLOCK_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace winnow::server {

// Thread safety: safe to call from several threads.
class Clock {
 public:
  virtual ~Clock() = default;

  // Never goes back.
  virtual absl::Time Now() const = 0;

  // Waits on `changed`, which goes with `mutex`, until it is signalled or this clock reaches
  // `deadline`; may also return without cause, so callers look at their state again.
  // InfiniteFuture() waits for the signal alone and sets no timer.
  virtual void WaitUntil(absl::Mutex& mutex, absl::CondVar& changed, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) = 0;

  // The process-wide monotonic clock, started at the wall time of its first use.
  static Clock* Real();
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BASE_CLOCK_H_
