#include "kernels/cuda/publish_steps.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace winnow::cuda {
namespace {

// Addresses that are compared and never read.
template <typename T>
T* Address(uintptr_t value) {
  return reinterpret_cast<T*>(value);
}

class PublishStepsTest : public ::testing::Test {
 protected:
  PublishStepsTest() {
    segment_.scores = Address<void>(0x1000000);
    segment_.row_stride = 4096;
    segment_.rows = 3;
    segment_.columns = 4093;
    segment_.lengths = Address<int32_t>(0x2000000);
    segment_.report = Address<SegmentReport>(0x3000000);
    segment_.pages.page_table = Address<int32_t>(0x4000000);
    segment_.pages.page_size = 64;
  }
  PublishSteps Make(std::byte* workspace = Address<std::byte>(0x10000)) {
    return MakePublishSteps({.k = 16, .k_blocks = 32}, {&segment_, 1}, workspace, fused_);
  }
  PublishSegment segment_;
  bool fused_ = false;
};

TEST_F(PublishStepsTest, TokenSlotsAloneNeedOneSelectionAndNoWorkspace) {
  segment_.slots = Address<int32_t>(0x5000000);
  const PublishSteps steps = Make();
  ASSERT_EQ(steps.tokens.size(), 1u);
  EXPECT_TRUE(steps.amax.empty() && steps.blocks.empty() && steps.sorted.empty());
  EXPECT_EQ(steps.tokens[0].lengths, segment_.lengths);
  EXPECT_EQ(steps.intermediate_bytes, 0);
}

TEST_F(PublishStepsTest, EveryStepUsesTheLengthsThatBlockMaxSettled) {
  segment_.slots = Address<int32_t>(0x5000000);
  segment_.blocks = Address<int32_t>(0x6000000);
  segment_.blocks_row_stride = 40;
  const PublishSteps steps = Make();
  ASSERT_EQ(steps.tokens.size(), 1u);
  ASSERT_EQ(steps.amax.size(), 1u);
  EXPECT_EQ(steps.tokens[0].lengths, steps.amax[0].window_lengths);
  EXPECT_EQ(steps.sorted[0].segment.lengths, steps.amax[0].window_lengths);
  EXPECT_EQ(steps.blocks[0].lengths, steps.amax[0].segment.block_counts);
  EXPECT_EQ(steps.amax[0].pages.page_table, segment_.pages.page_table);
}

TEST_F(PublishStepsTest, BlockIdsAreSortedInPlaceInTheCallersTable) {
  segment_.blocks = Address<int32_t>(0x6000000);
  segment_.blocks_row_stride = 40;
  const PublishSteps steps = Make();
  EXPECT_TRUE(steps.tokens.empty());
  EXPECT_EQ(steps.blocks[0].indices, segment_.blocks);
  EXPECT_EQ(steps.sorted[0].segment.blocks, segment_.blocks);
  EXPECT_EQ(steps.sorted[0].segment.out_blocks, segment_.blocks);
  EXPECT_EQ(steps.sorted[0].segment.out_blocks_row_stride, 40);
  EXPECT_EQ(steps.amax[0].pages.page_table, nullptr);
}

TEST_F(PublishStepsTest, IntermediateResultsDoNotOverlap) {
  segment_.block_slots = Address<int32_t>(0x7000000);
  segment_.block_slots_row_stride = 32;
  const PublishSteps steps = Make();
  const auto address = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); };
  const BlockAmaxSegment& amax = steps.amax[0].segment;
  EXPECT_EQ(address(steps.amax[0].window_lengths), 0x10000u);
  EXPECT_EQ(address(amax.block_counts), 0x10100u);
  EXPECT_EQ(address(amax.keys), 0x10200u);
  EXPECT_EQ(amax.keys_columns, 512);
  EXPECT_EQ(address(steps.blocks[0].indices), 0x10200u + 3 * 512 * 4);
  EXPECT_EQ(steps.intermediate_bytes, 0x200 + 3 * 512 * 4 + 512);  // 3 * 32 ids, rounded up to 256
}

TEST_F(PublishStepsTest, FusedBlocksComeInOrderWithTheirSlotsAndNothingIsSorted) {
  fused_ = true;
  segment_.slots = Address<int32_t>(0x5000000);
  segment_.block_slots = Address<int32_t>(0x7000000);
  segment_.block_slots_row_stride = 32;
  segment_.candidate_lengths = Address<int32_t>(0x8000000);
  const PublishSteps steps = Make();
  EXPECT_TRUE(steps.fused);
  EXPECT_TRUE(steps.sorted.empty());
  EXPECT_EQ(steps.block_params.order, Order::kPosition);
  EXPECT_EQ(steps.blocks[0].indices, nullptr);
  EXPECT_EQ(steps.blocks[0].slots, segment_.block_slots);
  EXPECT_EQ(steps.blocks[0].slots_row_stride, 32);
  EXPECT_EQ(steps.blocks[0].pages.page_size, 8);
  EXPECT_EQ(steps.tokens[0].pages.page_size, 64);
  EXPECT_EQ(steps.amax[0].candidate_lengths, segment_.candidate_lengths);
  EXPECT_EQ(steps.amax[0].kept_blocks, 32);
}

TEST_F(PublishStepsTest, FusedStepsCarveNoIdsAndDoNotOverlap) {
  fused_ = true;
  segment_.slots = Address<int32_t>(0x5000000);
  segment_.block_slots = Address<int32_t>(0x7000000);
  segment_.block_slots_row_stride = 32;
  const PublishSteps steps = Make();
  const auto address = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); };
  EXPECT_EQ(address(steps.amax[0].window_lengths), 0x10000u);
  EXPECT_EQ(address(steps.amax[0].segment.block_counts), 0x10100u);
  EXPECT_EQ(address(steps.blocks[0].scores), 0x10200u);
  EXPECT_EQ(steps.intermediate_bytes, 0x200 + 3 * 512 * 4);
  EXPECT_EQ(Make(nullptr).intermediate_bytes, steps.intermediate_bytes);
}

TEST_F(PublishStepsTest, WhoWantsOneSelectionTakesTheSteps) {
  fused_ = true;
  segment_.slots = Address<int32_t>(0x5000000);
  EXPECT_FALSE(Make().fused);
  segment_.blocks = Address<int32_t>(0x6000000);
  segment_.blocks_row_stride = 40;
  EXPECT_TRUE(Make().fused);
  fused_ = false;
  EXPECT_FALSE(Make().fused);
}

TEST_F(PublishStepsTest, SizesDoNotDependOnTheWorkspace) {
  segment_.blocks = Address<int32_t>(0x6000000);
  EXPECT_EQ(Make(nullptr).intermediate_bytes, Make().intermediate_bytes);
}

}  // namespace
}  // namespace winnow::cuda
