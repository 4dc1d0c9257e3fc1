#include "winnow/client/error.h"

namespace winnow::client {

bool HasReason(const absl::Status& status, ErrorReason reason) {
  const auto info = GetErrorInfo(status);
  return info.has_value() && info->reason == reason;
}

bool IsTransient(const absl::Status& status) {
  return absl::IsUnavailable(status) ||
         (absl::IsResourceExhausted(status) && (HasReason(status, ErrorReason::kQueueFull) ||
                                                HasReason(status, ErrorReason::kResourceBusy)));
}

bool IsContentsLost(const absl::Status& status) {
  return absl::IsDataLoss(status) && HasReason(status, ErrorReason::kResourceStale);
}

bool IsUnreachable(const absl::Status& status) {
  return absl::IsUnavailable(status) && !GetErrorInfo(status).has_value();
}

}  // namespace winnow::client
