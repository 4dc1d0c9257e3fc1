// Time for everything in the server: code asks a Clock, so that tests move time themselves.

#ifndef WINNOW_SERVER_BASE_CLOCK_H_
#define WINNOW_SERVER_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace winnow::server {

// Thread safety: safe to call from several threads.
class Clock {
 public:
  virtual ~Clock() = default;

  // Never goes back.
  virtual absl::Time Now() const = 0;

  // The process-wide monotonic clock, started at the wall time of its first use.
  static Clock* Real();
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BASE_CLOCK_H_
