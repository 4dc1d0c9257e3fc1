#include "kernels/cuda/tuning/plan_rules.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace winnow::cuda {
namespace {

constexpr DeviceTraits kH200 = {.capability = 90, .multiprocessors = 132};

std::vector<std::byte> MakePlan(const PlanParams& params, const std::vector<int32_t>& lengths) {
  const auto rows = static_cast<int32_t>(lengths.size());
  std::vector<std::byte> plan(PlanBytes(rows), std::byte{0x5a});
  WriteHostPlan(MakePlanRules(kH200, params), lengths.data(), rows, plan.data());
  return plan;
}

PlanHeader HeaderOf(const std::vector<std::byte>& plan) {
  PlanHeader header;
  std::memcpy(&header, plan.data(), sizeof(header));
  return header;
}

TEST(PlanRulesTest, AStaticThresholdIsTakenLiterally) {
  const PlanRules rules = MakePlanRules(kH200, {.k = 512, .columns = 70000, .static_threshold = 0});
  EXPECT_EQ(rules.effective_threshold, 0);
  EXPECT_EQ(rules.reason, PlanReason::kAsRequested);
  EXPECT_EQ(RouteOf(rules, 1), rules.pooled_route);
  EXPECT_EQ(RouteOf(rules, 0), Route::kIdentity);
}

TEST(PlanRulesTest, ANegativeThresholdLeavesItToTheDevice) {
  const PlanRules rules = MakePlanRules(kH200, {.k = 512, .columns = 70000});
  EXPECT_EQ(rules.reason, PlanReason::kHeuristic);
  EXPECT_GE(rules.effective_threshold, 512);
  EXPECT_EQ(RouteOf(rules, 512), Route::kIdentity);
  EXPECT_EQ(RouteOf(rules, kMaxColumns), rules.pooled_route);
}

TEST(PlanRulesTest, RowsAreCountedOncePerRoute) {
  const PlanHeader header =
      HeaderOf(MakePlan({.k = 512, .columns = 70000, .static_threshold = 10000},
                        {-4, 0, 5, 512, 513, 10000, 10001, 70000}));
  EXPECT_EQ(header.rows, 8);
  EXPECT_EQ(header.negative_rows, 1);
  EXPECT_EQ(header.pooled_row_count, 2);
  EXPECT_EQ(header.route_rows[static_cast<int>(Route::kIdentity)], 4);
  EXPECT_EQ(header.route_rows[static_cast<int>(Route::kSingleBlock)] +
                header.route_rows[static_cast<int>(Route::kStreaming)],
            2);
}

TEST(PlanRulesTest, ThePooledRowsAreListedInOrderAndTheRestIsFilled) {
  const std::vector<int32_t> lengths = {20000, 3, 30000, 40000};
  const auto plan = MakePlan({.k = 4, .columns = 70000, .static_threshold = 10000}, lengths);
  std::vector<int32_t> numbers(8);
  std::memcpy(numbers.data(), plan.data() + sizeof(PlanHeader), 32);
  EXPECT_EQ(numbers, (std::vector<int32_t>{20000, 3, 30000, 40000, 0, 2, 3, -1}));
}

}  // namespace
}  // namespace winnow::cuda
