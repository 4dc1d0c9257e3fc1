// When a call is repeated. All operations are pure, so that every call but Drain and Health may be.

#ifndef WINNOW_CLIENT_RETRY_POLICY_H_
#define WINNOW_CLIENT_RETRY_POLICY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace winnow::client {

// A call is repeated while it fails transiently (error.h), attempts are left, and the next one
// would start before the deadline. Attempt n + 1 starts a random time of 0.5 to 1 times
// min(max_backoff, initial_backoff * multiplier^(n - 1)) after attempt n failed, or when the server
// suggests, if that is later. The last error is returned as it came.
struct RetryPolicy {
  int32_t max_attempts = 8;  // the first one included; 1 or less: no repeats
  absl::Duration initial_backoff = absl::Milliseconds(10);
  absl::Duration max_backoff = absl::Seconds(1);
  double multiplier = 2.0;  // at least 1

  static RetryPolicy Never() { return {.max_attempts = 1}; }
};

// The wait after failed attempt `attempt`, from 1. `jitter` is in [0, 1): 0 gives half of the
// backoff. `error` may carry the server's suggestion. Pure.
absl::Duration BackoffAfter(const RetryPolicy& policy, int32_t attempt, double jitter,
                            const absl::Status& error);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_RETRY_POLICY_H_
