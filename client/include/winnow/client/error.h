// How calls fail. Every call returns absl::Status or StatusOr; an error of the server carries an
// ErrorInfo, which GetErrorInfo(status) gives: branch on the code and its reason, never on the
// text.
//
//   if (winnow::client::HasReason(result.status(), winnow::ErrorReason::kQueueFull)) ShedLoad();
//
// Errors that the client makes itself:
//   Unavailable without an ErrorInfo: no server answers at the target, the connection broke, or the
//   server dropped the call unread while it shut down.
//   DeadlineExceeded: the call's timeout passed. Cancelled: the caller's stop token,
//   Future::Cancel, or the end of the client. Internal without an ErrorInfo: the server sent no
//   reply or a malformed one. InvalidArgument and ResourceExhausted with an ErrorInfo: a view that
//   cannot be read or sent, found before anything is sent, by the same reasons as the server's.

#ifndef WINNOW_CLIENT_ERROR_H_
#define WINNOW_CLIENT_ERROR_H_

#include "absl/status/status.h"
#include "winnow/kernels/error.h"  // ErrorReason, ErrorInfo, GetErrorInfo

namespace winnow::client {

// Whether `status` carries that reason.
bool HasReason(const absl::Status& status, ErrorReason reason);

// Whether the same call may succeed if it is repeated: Unavailable of any kind, and
// ResourceExhausted with reason QUEUE_FULL or RESOURCE_BUSY.
bool IsTransient(const absl::Status& status);

// Whether the call would have read bytes of a buffer that were lost with a server and not written
// since; see Lease. DataLoss with reason RESOURCE_STALE; the field names the tensor.
bool IsContentsLost(const absl::Status& status);

// Whether no server was reached: Unavailable without an ErrorInfo.
bool IsUnreachable(const absl::Status& status);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_ERROR_H_
