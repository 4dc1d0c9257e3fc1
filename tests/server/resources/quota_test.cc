#include "server/resources/quota.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using ::testing::HasSubstr;
using winnow::testing::IsOk;
using winnow::testing::IsOverQuota;
using winnow::testing::StatusIs;

TEST(QuotaTest, AHoldComesBackWhenItIsDestroyed) {
  const auto quota = Quota::Create("bytes of the lease", 100);
  {
    const auto hold = quota->Take(60);
    ASSERT_THAT(hold, IsOk());
    EXPECT_EQ(quota->used(), 60);
  }
  EXPECT_EQ(quota->used(), 0);
}

TEST(QuotaTest, OverTheLimitNamesUsedAndLimitAndTakesNothing) {
  const auto quota = Quota::Create("bytes of the lease", 100);
  const auto hold = quota->Take(60);
  const auto refused = quota->Take(41);
  EXPECT_THAT(refused,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("60 of 100 used, 41")));
  EXPECT_THAT(refused, IsOverQuota("100, the bytes of the lease"));
  EXPECT_EQ(GetErrorInfo(refused.status())->value, "60 + 41");
  EXPECT_EQ(quota->used(), 60);
  EXPECT_THAT(quota->Take(40), IsOk());
}

TEST(QuotaTest, TheLargestAmountDoesNotOverflow) {
  const auto quota = Quota::Create("bytes", 100);
  const auto hold = quota->Take(1);
  EXPECT_FALSE(quota->Take(std::numeric_limits<int64_t>::max()).ok());
}

TEST(QuotaTest, AMovedHoldIsGivenBackOnce) {
  const auto quota = Quota::Create("bytes", 100);
  auto first = quota->Take(10);
  ASSERT_THAT(first, IsOk());
  QuotaHold second = *std::move(first);
  QuotaHold third;
  third = std::move(second);
  EXPECT_EQ(quota->used(), 10);
  third.Reset();
  third.Reset();
  EXPECT_EQ(quota->used(), 0);
}

TEST(QuotaTest, AHoldMayOutliveItsQuotasOwner) {
  auto quota = Quota::Create("bytes", 100);
  auto hold = quota->Take(10);
  quota = nullptr;
  hold->Reset();
}

}  // namespace
}  // namespace winnow::server
