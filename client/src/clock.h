// Time for the calls: retries and deadlines ask a Clock, so that tests move time themselves.

#ifndef WINNOW_CLIENT_SRC_CLOCK_H_
#define WINNOW_CLIENT_SRC_CLOCK_H_

#include <stop_token>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace winnow::client {

// Thread safety: safe to call from several threads.
class Clock {
 public:
  virtual ~Clock() = default;

  // Never goes back. Only differences mean anything.
  virtual absl::Time Now() const = 0;

  // Calls `done` exactly once: when `delay` has passed or `stop` is stopped, whichever is first.
  // May call it from another thread, or before it returns.
  virtual void After(absl::Duration delay, std::stop_token stop,
                     absl::AnyInvocable<void() &&> done) = 0;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_CLOCK_H_
