// Errors with a reason that programs branch on: an absl::Status whose payload names the reason, the
// field, the value, the limit and the row. Names and numbers are those of winnow.v1.ErrorReason; a
// test holds them equal.

#ifndef WINNOW_KERNELS_ERROR_H_
#define WINNOW_KERNELS_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace winnow {

enum class ErrorReason : int32_t {
  kUnspecified = 0,
  kFieldMissing = 1,
  kFieldsConflict = 2,
  kEnumUnknown = 3,
  kValueOutOfRange = 4,
  kKOutOfRange = 5,
  kShapeOutOfRange = 6,
  kShapeMismatch = 7,
  kStrideTooSmall = 8,
  kSizeOverflow = 9,
  kDataSizeMismatch = 10,
  kDtypeUnsupported = 11,
  kAlignmentInvalid = 12,
  kPageSizeInvalid = 13,
  kPageTableTooNarrow = 14,
  kPageIdOutOfRange = 15,
  kPageTableRowOutOfRange = 16,
  kLengthOutOfRange = 17,
  kRowStartOutOfRange = 18,
  kIndexOutOfRange = 19,
  kBlockSizeInvalid = 20,
  kBlockIdOutOfRange = 21,
  kKeysTooNarrow = 22,
  kPlanStale = 23,
  kNoClusterFits = 24,
  kQueueFull = 25,
  kServerDraining = 26,
  kDeadlineExpired = 27,
  kRequestCancelled = 28,
  kMessageTooLarge = 29,
  kDeviceLost = 30,
  kDeviceUnavailable = 31,
  kNotInBuild = 32,
  kWorkspaceTooSmall = 33,
  kMemoryExhausted = 34,
  kQuotaExceeded = 35,
  kLeaseNotFound = 36,
  kLeaseEnded = 37,
  kResourceNotFound = 38,
  kResourceStale = 39,
  kResourceForeign = 40,
  kResourceBusy = 41,
  kRangeOutOfBounds = 42,
  kOutputsOverlap = 43,
  kStepReferenceInvalid = 44,
  kPermissionDenied = 45,
  kInternal = 46,
  kMessageMalformed = 47,
  kImportRefused = 48,
};

// "K_OUT_OF_RANGE" and so on; "UNSPECIFIED" for numbers that are not in the enum.
absl::string_view Name(ErrorReason reason);

struct ErrorInfo {
  ErrorReason reason = ErrorReason::kUnspecified;
  std::string field;  // path of the request field, e.g. "scores.row_stride"; empty when no field is
                      // at fault
  std::string value;  // as the caller sent it
  std::string limit;  // what would have been accepted, e.g. "1 to 2048"
  int64_t row = -1;   // -1: not about one row
  int64_t retry_after_millis = 0;  // when a repeat may succeed; 0: no suggestion
};

// A status of `code` with `message` and `info` as payload. The message names field, value, limit
// and the way out in lower case, without a full stop.
absl::Status MakeError(absl::StatusCode code, absl::string_view message, ErrorInfo info);

// "`field` is `value`; this server accepts `limit`" as InvalidArgument.
absl::Status InvalidField(ErrorReason reason, absl::string_view field, int64_t value,
                          absl::string_view limit);

// What MakeError attached; nullopt for Ok and for statuses that carry none.
std::optional<ErrorInfo> GetErrorInfo(const absl::Status& status);

// The same error with `prefix` before the field, and in the message: "steps[2]." + "k".
absl::Status WithFieldPrefix(absl::string_view prefix, const absl::Status& status);

}  // namespace winnow

#endif  // WINNOW_KERNELS_ERROR_H_
