#include "winnow/client/retry_policy.h"

#include <algorithm>

#include "winnow/kernels/error.h"

namespace winnow::client {

absl::Duration BackoffAfter(const RetryPolicy& policy, int32_t attempt, double jitter,
                            const absl::Status& error) {
  absl::Duration backoff = std::min(policy.initial_backoff, policy.max_backoff);
  // A loop rather than pow(): it stops at the maximum and cannot overflow.
  for (int32_t i = 1; i < attempt && backoff < policy.max_backoff && policy.multiplier > 1.0; ++i) {
    backoff = std::min(backoff * policy.multiplier, policy.max_backoff);
  }
  // Half of it is random, so that callers refused together do not come back together.
  absl::Duration wait = backoff * (0.5 + 0.5 * jitter);
  if (const auto info = GetErrorInfo(error); info.has_value()) {
    wait = std::max(wait, absl::Milliseconds(info->retry_after_millis));
  }
  return wait;
}

}  // namespace winnow::client
