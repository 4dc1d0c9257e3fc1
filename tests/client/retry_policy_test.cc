#include "winnow/client/retry_policy.h"

#include <gtest/gtest.h>

#include "tests/client/fakes.h"

namespace winnow::client {
namespace {

const RetryPolicy kPolicy = {.max_attempts = 100,
                             .initial_backoff = absl::Milliseconds(8),
                             .max_backoff = absl::Milliseconds(50),
                             .multiplier = 2.0};

TEST(RetryPolicyTest, BackoffsDoubleUpToTheMaximum) {
  const absl::Status error = absl::UnavailableError("");
  EXPECT_EQ(BackoffAfter(kPolicy, 1, 1.0, error), absl::Milliseconds(8));
  EXPECT_EQ(BackoffAfter(kPolicy, 2, 1.0, error), absl::Milliseconds(16));
  EXPECT_EQ(BackoffAfter(kPolicy, 3, 1.0, error), absl::Milliseconds(32));
  EXPECT_EQ(BackoffAfter(kPolicy, 4, 1.0, error), absl::Milliseconds(50));
  EXPECT_EQ(BackoffAfter(kPolicy, 2'000'000'000, 1.0, error), absl::Milliseconds(50));
}

TEST(RetryPolicyTest, JitterTakesUpToHalf) {
  EXPECT_EQ(BackoffAfter(kPolicy, 1, 0.0, QueueFull()), absl::Milliseconds(4));
  EXPECT_EQ(BackoffAfter(kPolicy, 1, 0.5, QueueFull()), absl::Milliseconds(6));
}

TEST(RetryPolicyTest, AMultiplierOfOneKeepsTheBackoff) {
  RetryPolicy policy = kPolicy;
  policy.multiplier = 1.0;
  EXPECT_EQ(BackoffAfter(policy, 1'000'000'000, 1.0, QueueFull()), absl::Milliseconds(8));
}

TEST(RetryPolicyTest, AnInitialBackoffAboveTheMaximumIsTheMaximum) {
  RetryPolicy policy = kPolicy;
  policy.initial_backoff = absl::Seconds(5);
  EXPECT_EQ(BackoffAfter(policy, 1, 1.0, QueueFull()), absl::Milliseconds(50));
}

TEST(RetryPolicyTest, ASuggestionWinsWhenItIsLater) {
  EXPECT_EQ(BackoffAfter(kPolicy, 1, 1.0, QueueFull(7)), absl::Milliseconds(8));
  EXPECT_EQ(BackoffAfter(kPolicy, 1, 1.0, QueueFull(900)), absl::Milliseconds(900));
}

}  // namespace
}  // namespace winnow::client
