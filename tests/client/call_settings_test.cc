#include "client/src/call_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/testing/status_matchers.h"

namespace winnow::client {
namespace {

using ::winnow::testing::FailsWith;

const ClientOptions kDefaults = {.target = "unix:/t"};

TEST(CallSettingsTest, DefaultsAreUsable) { EXPECT_OK(CheckOptions(kDefaults)); }

TEST(CallSettingsTest, EachUnusableOptionIsNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto bad = [](auto change) {
    ClientOptions options = kDefaults;
    change(options);
    return CheckOptions(options);
  };
  EXPECT_THAT(bad([](auto& o) { o.target = "nowhere"; }),
              FailsWith(ErrorReason::kValueOutOfRange, "target"));
  EXPECT_THAT(bad([](auto& o) { o.timeout = absl::ZeroDuration(); }),
              FailsWith(ErrorReason::kValueOutOfRange, "timeout"));
  EXPECT_THAT(bad([](auto& o) { o.user_agent = "a\nb"; }),
              FailsWith(ErrorReason::kValueOutOfRange, "user_agent"));
  EXPECT_THAT(bad([](auto& o) { o.retry.initial_backoff = -absl::Seconds(1); }),
              FailsWith(ErrorReason::kValueOutOfRange, "retry.initial_backoff"));
  EXPECT_THAT(bad([](auto& o) { o.retry.max_backoff = absl::ZeroDuration(); }),
              FailsWith(ErrorReason::kValueOutOfRange, "retry.max_backoff"));
  EXPECT_THAT(bad([](auto& o) { o.retry.max_backoff = absl::InfiniteDuration(); }),
              FailsWith(ErrorReason::kValueOutOfRange, "retry.max_backoff"));
  EXPECT_THAT(bad([&](auto& o) { o.retry.multiplier = nan; }),
              FailsWith(ErrorReason::kValueOutOfRange, "retry.multiplier"));
  EXPECT_THAT(bad([](auto& o) { o.retry.multiplier = 0.5; }),
              FailsWith(ErrorReason::kValueOutOfRange, "retry.multiplier"));
}

TEST(CallSettingsTest, MetadataThatWouldEndTheProcessIsRefused) {
  for (const char* key : {"", "Upper", "with space", ":path", "grpc-timeout", "a\nb", "\xc3\xa9"}) {
    EXPECT_THAT(MakeCallSettings(kDefaults, {.metadata = {{key, "v"}}}, "m", Repeat::kSafe),
                FailsWith(ErrorReason::kValueOutOfRange, "metadata[0] key"))
        << key;
  }
  EXPECT_THAT(
      MakeCallSettings(kDefaults, {.metadata = {{"a", "v"}, {"b", "x\ny"}}}, "m", Repeat::kSafe),
      FailsWith(ErrorReason::kValueOutOfRange, "metadata[1] value"));
}

TEST(CallSettingsTest, ACallsOwnRetryPolicyIsCheckedAndTaken) {
  const auto settings =
      MakeCallSettings(kDefaults, {.retry = RetryPolicy{.max_attempts = 3}}, "m", Repeat::kSafe);
  ASSERT_OK(settings);
  EXPECT_EQ(settings->retry.max_attempts, 3);
  EXPECT_THAT(
      MakeCallSettings(kDefaults, {.retry = RetryPolicy{.multiplier = 0}}, "m", Repeat::kSafe),
      FailsWith(ErrorReason::kValueOutOfRange, "retry.multiplier"));
}

TEST(CallSettingsTest, AnRpcThatMustNotBeRepeatedGetsOneAttempt) {
  const auto settings =
      MakeCallSettings(kDefaults, {.retry = RetryPolicy{.max_attempts = 3}}, "m", Repeat::kNever);
  ASSERT_OK(settings);
  EXPECT_EQ(settings->retry.max_attempts, 1);
}

}  // namespace
}  // namespace winnow::client
