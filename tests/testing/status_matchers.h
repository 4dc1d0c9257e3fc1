// GoogleTest matchers for absl::Status and absl::StatusOr.

#ifndef WINNOW_TESTS_TESTING_STATUS_MATCHERS_H_
#define WINNOW_TESTS_TESTING_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/kernels/error.h"

namespace winnow::testing {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, negation ? "is an error" : "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// Code, and a matcher of the message.
MATCHER_P2(StatusIs, code, message, "has the code and the message asked for") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(message, std::string(StatusOf(arg).message()),
                                       result_listener);
}

// Reason and field of the attached ErrorInfo.
MATCHER_P2(FailsWith, reason, field, "has the reason and the field asked for") {
  const auto info = GetErrorInfo(StatusOf(arg));
  if (!info.has_value()) {
    *result_listener << StatusOf(arg).ToString() << ", without error info";
    return false;
  }
  *result_listener << StatusOf(arg).ToString() << ", reason " << Name(info->reason) << ", field "
                   << info->field;
  return info->reason == reason && info->field == field;
}

// QUOTA_EXCEEDED of the quota that `limit` ends with, by no field of the request.
MATCHER_P(IsOverQuota, limit, "is over the quota asked for") {
  const auto info = GetErrorInfo(StatusOf(arg));
  *result_listener << StatusOf(arg).ToString();
  if (!info.has_value()) return false;
  *result_listener << ", field \"" << info->field << "\", limit " << info->limit;
  return info->reason == ErrorReason::kQuotaExceeded && info->field.empty() && info->limit == limit;
}

}  // namespace winnow::testing

#define EXPECT_OK(expression) EXPECT_THAT(expression, ::winnow::testing::IsOk())
#define ASSERT_OK(expression) ASSERT_THAT(expression, ::winnow::testing::IsOk())

#endif  // WINNOW_TESTS_TESTING_STATUS_MATCHERS_H_
