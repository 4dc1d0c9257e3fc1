#include "winnow/kernels/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace winnow {
namespace {

using ::testing::HasSubstr;

TEST(ErrorTest, AnInvalidFieldSaysFieldValueAndLimit) {
  const absl::Status status = InvalidField(ErrorReason::kKOutOfRange, "k", 4096, "1 to 2048");
  EXPECT_THAT(status, testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                        "k is 4096; this server accepts 1 to 2048"));
  const auto info = GetErrorInfo(status);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason, ErrorReason::kKOutOfRange);
  EXPECT_EQ(info->field, "k");
  EXPECT_EQ(info->value, "4096");
  EXPECT_EQ(info->limit, "1 to 2048");
  EXPECT_EQ(info->row, -1);
}

TEST(ErrorTest, AStatusOfOthersCarriesNoInfo) {
  EXPECT_FALSE(GetErrorInfo(absl::OkStatus()).has_value());
  EXPECT_FALSE(GetErrorInfo(absl::InternalError("other")).has_value());
}

TEST(ErrorTest, APrefixIsPutBeforeTheFieldAndTheMessage) {
  const absl::Status status =
      WithFieldPrefix("steps[2].", InvalidField(ErrorReason::kKOutOfRange, "k", 0, "1 to 2048"));
  EXPECT_THAT(status, testing::FailsWith(ErrorReason::kKOutOfRange, "steps[2].k"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("steps[2].k is 0"));
}

TEST(ErrorTest, APrefixLeavesOtherStatusesAlone) {
  EXPECT_OK(WithFieldPrefix("a.", absl::OkStatus()));
  EXPECT_EQ(WithFieldPrefix("a.", absl::InternalError("other")).message(), "other");
}

TEST(ErrorTest, EveryReasonHasAnUpperCaseName) {
  for (int32_t number = 1; number <= static_cast<int32_t>(ErrorReason::kInternal); ++number) {
    const absl::string_view name = Name(static_cast<ErrorReason>(number));
    EXPECT_NE(name, "UNSPECIFIED") << number;
    for (const char c : name) EXPECT_TRUE((c >= 'A' && c <= 'Z') || c == '_') << name;
  }
  EXPECT_EQ(Name(static_cast<ErrorReason>(9999)), "UNSPECIFIED");
}

}  // namespace
}  // namespace winnow
