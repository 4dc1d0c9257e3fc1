// How tasks end without a result.

#ifndef WINNOW_SERVER_BATCHING_TASK_ERRORS_H_
#define WINNOW_SERVER_BATCHING_TASK_ERRORS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace winnow::server {

// ResourceExhausted (QUEUE_FULL): `used` of `limit` "requests" or "bytes" are in use.
absl::Status QueueFullError(absl::string_view what, int64_t used, int64_t limit);
// ResourceExhausted (MESSAGE_TOO_LARGE): more inline bytes than all requests together may hold.
absl::Status TooLargeError(int64_t bytes, int64_t limit);
// Unavailable (SERVER_DRAINING).
absl::Status DrainingError();
// DeadlineExceeded (DEADLINE_EXPIRED).
absl::Status ExpiredError();
// Cancelled (REQUEST_CANCELLED).
absl::Status CancelledError();

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BATCHING_TASK_ERRORS_H_
