#include "kernels/cpu/plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace winnow::cpu {
namespace {

TEST(PlanTest, OneThreadSharesNoRow) {
  for (const int32_t asked : {-1, 0, 4096}) {
    const Threshold threshold = ChooseThreshold(asked, 1, 1 << 30);
    EXPECT_EQ(threshold.effective, std::numeric_limits<int32_t>::max());
    EXPECT_EQ(threshold.reason, PlanReason::kNoPool);
  }
}

TEST(PlanTest, AStaticThresholdIsTakenLiterally) {
  for (const int32_t asked : {0, 1, 4096, kMaxColumns}) {
    const Threshold threshold = ChooseThreshold(asked, 8, 1 << 30);
    EXPECT_EQ(threshold.effective, asked);
    EXPECT_EQ(threshold.reason, PlanReason::kAsRequested);
  }
}

TEST(PlanTest, TheHeuristicSharesRowsAboveOneThreadsShare) {
  EXPECT_EQ(ChooseThreshold(-1, 4, 4000000).effective, 1000000);
  EXPECT_EQ(ChooseThreshold(-1, 4, 1000).effective, 262144);
  EXPECT_EQ(ChooseThreshold(-1, 2, int64_t{1} << 40).effective,
            std::numeric_limits<int32_t>::max());
  EXPECT_EQ(ChooseThreshold(-1, 4, 4000000).reason, PlanReason::kHeuristic);
}

TEST(PlanTest, ThePlanListsLengthsAndPooledRows) {
  const std::vector<int32_t> lengths = {100, 5000, -4, 7000, 512, 0, 4096};
  std::vector<std::byte> plan(PlanBytes(7));
  WritePlan({.k = 512, .columns = 9000, .static_threshold = 4096}, 4, lengths.data(), 7,
            plan.data());
  PlanHeader header;
  std::memcpy(&header, plan.data(), sizeof(header));
  EXPECT_EQ(header.pooled_row_count, 2);
  EXPECT_EQ(header.route_rows[static_cast<int>(Route::kSplit)], 2);
  EXPECT_EQ(header.route_rows[static_cast<int>(Route::kIdentity)], 4);
  EXPECT_EQ(header.route_rows[static_cast<int>(Route::kStreaming)], 1);
  EXPECT_EQ(header.negative_rows, 1);
  EXPECT_EQ(header.pool_width, 4);
  std::vector<int32_t> numbers(14);
  std::memcpy(numbers.data(), plan.data() + sizeof(header), 14 * 4);
  EXPECT_EQ(numbers,
            (std::vector<int32_t>{100, 5000, -4, 7000, 512, 0, 4096, 1, 3, -1, -1, -1, -1, -1}));
}

TEST(PlanTest, NegativeLengthsAddNothing) {
  const std::vector<int32_t> lengths = {5, -100, 7};
  EXPECT_EQ(TotalLength(lengths.data(), 3), 12);
}

}  // namespace
}  // namespace winnow::cpu
