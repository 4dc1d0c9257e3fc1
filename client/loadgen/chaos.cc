#include "client/loadgen/chaos.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/client/error.h"

namespace winnow::stress {
namespace {

// What requests hear whose lease ended under them, or whose client did.
bool IsOfEndedLease(const absl::Status& status) {
  constexpr ErrorReason kReasons[] = {ErrorReason::kLeaseEnded, ErrorReason::kLeaseNotFound,
                                      ErrorReason::kResourceNotFound, ErrorReason::kResourceStale,
                                      ErrorReason::kRequestCancelled};
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value()) return status.code() == absl::StatusCode::kCancelled;
  return std::find(std::begin(kReasons), std::end(kReasons), info->reason) != std::end(kReasons);
}

}  // namespace

absl::StatusOr<Chaos> ParseChaos(absl::string_view name) {
  constexpr std::pair<absl::string_view, Chaos> kNames[] = {
      {"none", Chaos::kNone},         {"cancel", Chaos::kCancel},
      {"deadline", Chaos::kDeadline}, {"malformed", Chaos::kMalformed},
      {"churn", Chaos::kChurn},       {"lease", Chaos::kLease},
      {"slow", Chaos::kSlow}};
  for (const auto& [known, chaos] : kNames) {
    if (known == name) return chaos;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no chaos \"", name,
                   "\"; take none, cancel, deadline, malformed, churn, lease or slow"));
}

bool Explains(Chaos chaos, bool malformed, const absl::Status& status) {
  if (malformed) return status.code() == absl::StatusCode::kInvalidArgument;
  if (status.code() == absl::StatusCode::kResourceExhausted) return true;
  return (chaos == Chaos::kCancel && status.code() == absl::StatusCode::kCancelled) ||
         (chaos == Chaos::kDeadline && status.code() == absl::StatusCode::kDeadlineExceeded) ||
         (chaos == Chaos::kLease && IsOfEndedLease(status));
}

}  // namespace winnow::stress
