#include "winnow/kernels/with_message.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "winnow/kernels/error.h"

namespace winnow {
namespace {

TEST(WithMessageTest, TheTextIsNewAndTheRestStays) {
  const absl::Status status =
      WithMessage(InvalidField(ErrorReason::kKOutOfRange, "k", 4096, "1 to 2048"), "other words");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "other words");
  EXPECT_THAT(status, testing::FailsWith(ErrorReason::kKOutOfRange, "k"));
  EXPECT_EQ(GetErrorInfo(status)->value, "4096");
  EXPECT_EQ(GetErrorInfo(status)->limit, "1 to 2048");
}

TEST(WithMessageTest, AnErrorOfOthersGetsNoInfo) {
  const absl::Status status = WithMessage(absl::UnavailableError("gone"), "other words");
  EXPECT_EQ(status, absl::UnavailableError("other words"));
  EXPECT_FALSE(GetErrorInfo(status).has_value());
}

}  // namespace
}  // namespace winnow
