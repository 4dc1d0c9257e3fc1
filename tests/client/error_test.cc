#include "winnow/client/error.h"

#include <gtest/gtest.h>

#include "tests/client/fakes.h"

namespace winnow::client {
namespace {

TEST(ErrorTest, AReasonIsFoundInItsStatusOnly) {
  EXPECT_TRUE(HasReason(QueueFull(), ErrorReason::kQueueFull));
  EXPECT_FALSE(HasReason(QueueFull(), ErrorReason::kServerDraining));
  EXPECT_FALSE(HasReason(absl::UnavailableError(""), ErrorReason::kUnspecified));
  EXPECT_FALSE(HasReason(absl::OkStatus(), ErrorReason::kUnspecified));
}

TEST(ErrorTest, AServerThatAnswersIsReachable) {
  EXPECT_TRUE(IsUnreachable(absl::UnavailableError("reset")));
  EXPECT_FALSE(IsUnreachable(Draining()));
  EXPECT_FALSE(IsUnreachable(absl::InternalError("")));
}

}  // namespace
}  // namespace winnow::client
