#include "winnow/kernels/error.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace winnow {
namespace {

constexpr absl::string_view kPayloadUrl = "winnow.v1.ErrorDetail/fields";
// Separates the payload's fields; it cannot occur in them because no caller's bytes are copied into
// an error.
constexpr char kSeparator = '\x1f';

}  // namespace

absl::string_view Name(ErrorReason reason) {
  switch (reason) {
    case ErrorReason::kUnspecified:
      return "UNSPECIFIED";
    case ErrorReason::kFieldMissing:
      return "FIELD_MISSING";
    case ErrorReason::kFieldsConflict:
      return "FIELDS_CONFLICT";
    case ErrorReason::kEnumUnknown:
      return "ENUM_UNKNOWN";
    case ErrorReason::kValueOutOfRange:
      return "VALUE_OUT_OF_RANGE";
    case ErrorReason::kKOutOfRange:
      return "K_OUT_OF_RANGE";
    case ErrorReason::kShapeOutOfRange:
      return "SHAPE_OUT_OF_RANGE";
    case ErrorReason::kShapeMismatch:
      return "SHAPE_MISMATCH";
    case ErrorReason::kStrideTooSmall:
      return "STRIDE_TOO_SMALL";
    case ErrorReason::kSizeOverflow:
      return "SIZE_OVERFLOW";
    case ErrorReason::kDataSizeMismatch:
      return "DATA_SIZE_MISMATCH";
    case ErrorReason::kDtypeUnsupported:
      return "DTYPE_UNSUPPORTED";
    case ErrorReason::kAlignmentInvalid:
      return "ALIGNMENT_INVALID";
    case ErrorReason::kPageSizeInvalid:
      return "PAGE_SIZE_INVALID";
    case ErrorReason::kPageTableTooNarrow:
      return "PAGE_TABLE_TOO_NARROW";
    case ErrorReason::kPageIdOutOfRange:
      return "PAGE_ID_OUT_OF_RANGE";
    case ErrorReason::kPageTableRowOutOfRange:
      return "PAGE_TABLE_ROW_OUT_OF_RANGE";
    case ErrorReason::kLengthOutOfRange:
      return "LENGTH_OUT_OF_RANGE";
    case ErrorReason::kRowStartOutOfRange:
      return "ROW_START_OUT_OF_RANGE";
    case ErrorReason::kIndexOutOfRange:
      return "INDEX_OUT_OF_RANGE";
    case ErrorReason::kBlockSizeInvalid:
      return "BLOCK_SIZE_INVALID";
    case ErrorReason::kBlockIdOutOfRange:
      return "BLOCK_ID_OUT_OF_RANGE";
    case ErrorReason::kKeysTooNarrow:
      return "KEYS_TOO_NARROW";
    case ErrorReason::kPlanStale:
      return "PLAN_STALE";
    case ErrorReason::kNoClusterFits:
      return "NO_CLUSTER_FITS";
    case ErrorReason::kQueueFull:
      return "QUEUE_FULL";
    case ErrorReason::kServerDraining:
      return "SERVER_DRAINING";
    case ErrorReason::kDeadlineExpired:
      return "DEADLINE_EXPIRED";
    case ErrorReason::kRequestCancelled:
      return "REQUEST_CANCELLED";
    case ErrorReason::kMessageTooLarge:
      return "MESSAGE_TOO_LARGE";
    case ErrorReason::kDeviceLost:
      return "DEVICE_LOST";
    case ErrorReason::kDeviceUnavailable:
      return "DEVICE_UNAVAILABLE";
    case ErrorReason::kNotInBuild:
      return "NOT_IN_BUILD";
    case ErrorReason::kWorkspaceTooSmall:
      return "WORKSPACE_TOO_SMALL";
    case ErrorReason::kMemoryExhausted:
      return "MEMORY_EXHAUSTED";
    case ErrorReason::kQuotaExceeded:
      return "QUOTA_EXCEEDED";
    case ErrorReason::kLeaseNotFound:
      return "LEASE_NOT_FOUND";
    case ErrorReason::kLeaseEnded:
      return "LEASE_ENDED";
    case ErrorReason::kResourceNotFound:
      return "RESOURCE_NOT_FOUND";
    case ErrorReason::kResourceStale:
      return "RESOURCE_STALE";
    case ErrorReason::kResourceForeign:
      return "RESOURCE_FOREIGN";
    case ErrorReason::kResourceBusy:
      return "RESOURCE_BUSY";
    case ErrorReason::kRangeOutOfBounds:
      return "RANGE_OUT_OF_BOUNDS";
    case ErrorReason::kOutputsOverlap:
      return "OUTPUTS_OVERLAP";
    case ErrorReason::kStepReferenceInvalid:
      return "STEP_REFERENCE_INVALID";
    case ErrorReason::kPermissionDenied:
      return "PERMISSION_DENIED";
    case ErrorReason::kInternal:
      return "INTERNAL";
    case ErrorReason::kMessageMalformed:
      return "MESSAGE_MALFORMED";
    case ErrorReason::kImportRefused:
      return "IMPORT_REFUSED";
  }
  return "UNSPECIFIED";
}

absl::Status MakeError(absl::StatusCode code, absl::string_view message, ErrorInfo info) {
  absl::Status status(code, message);
  const std::string separator(1, kSeparator);
  status.SetPayload(
      kPayloadUrl, absl::Cord(absl::StrCat(static_cast<int32_t>(info.reason), separator, info.field,
                                           separator, info.value, separator, info.limit, separator,
                                           info.row, separator, info.retry_after_millis)));
  return status;
}

absl::Status InvalidField(ErrorReason reason, absl::string_view field, int64_t value,
                          absl::string_view limit) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat(field, " is ", value, "; this server accepts ", limit),
                   {.reason = reason,
                    .field = std::string(field),
                    .value = absl::StrCat(value),
                    .limit = std::string(limit)});
}

std::optional<ErrorInfo> GetErrorInfo(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::string text(*payload);
  const std::vector<std::string> fields = absl::StrSplit(text, kSeparator);
  int32_t reason = 0;
  ErrorInfo info;
  if (fields.size() != 6 || !absl::SimpleAtoi(fields[0], &reason) ||
      !absl::SimpleAtoi(fields[4], &info.row) ||
      !absl::SimpleAtoi(fields[5], &info.retry_after_millis)) {
    return std::nullopt;
  }
  info.reason = static_cast<ErrorReason>(reason);
  info.field = fields[1];
  info.value = fields[2];
  info.limit = fields[3];
  return info;
}

absl::Status WithFieldPrefix(absl::string_view prefix, const absl::Status& status) {
  auto info = GetErrorInfo(status);
  if (!info.has_value() || info->field.empty()) return status;
  info->field = absl::StrCat(prefix, info->field);
  return MakeError(status.code(), absl::StrCat(prefix, status.message()), *std::move(info));
}

}  // namespace winnow
