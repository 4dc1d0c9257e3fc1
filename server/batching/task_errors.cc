#include "server/batching/task_errors.h"

#include "absl/strings/str_cat.h"
#include "winnow/kernels/error.h"

namespace winnow::server {

namespace {

// A full queue empties by some launches in about this time.
constexpr int64_t kRetryAfterMillis = 20;

}  // namespace

absl::Status QueueFullError(absl::string_view what, int64_t used, int64_t limit) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   absl::StrCat("the queue holds ", used, " ", what, " of ", limit,
                                " and has no room for this request; try again later"),
                   {.reason = ErrorReason::kQueueFull,
                    .value = absl::StrCat(used),
                    .limit = absl::StrCat(limit, " ", what),
                    .retry_after_millis = kRetryAfterMillis});
}

absl::Status TooLargeError(int64_t bytes, int64_t limit) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   absl::StrCat("the request holds ", bytes, " inline bytes; this server accepts ",
                                limit, " for all waiting requests"),
                   {.reason = ErrorReason::kMessageTooLarge,
                    .value = absl::StrCat(bytes),
                    .limit = absl::StrCat(limit, " bytes")});
}

absl::Status DrainingError() {
  return MakeError(absl::StatusCode::kUnavailable, "the server is shutting down; go to another one",
                   {.reason = ErrorReason::kServerDraining});
}

absl::Status ExpiredError() {
  return MakeError(absl::StatusCode::kDeadlineExceeded,
                   "the deadline passed before the request was launched",
                   {.reason = ErrorReason::kDeadlineExpired});
}

absl::Status CancelledError() {
  return MakeError(absl::StatusCode::kCancelled, "the request was cancelled before it was launched",
                   {.reason = ErrorReason::kRequestCancelled});
}

}  // namespace winnow::server
