// The reference against answers worked out by hand.

#include "winnow/kernels/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace winnow::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Numbers = std::vector<int32_t>;

// One row of scores and everything that a TopK may write for it.
struct OneRow {
  OneRow(std::vector<float> row_scores, TopKParams row_params)
      : scores(std::move(row_scores)),
        params(row_params),
        length(static_cast<int32_t>(scores.size())),
        indices(params.k, 99),
        slots(params.k, 99),
        values(params.k, 99.0f) {
    segment = {.scores = scores.data(),
               .row_stride = length,
               .rows = 1,
               .columns = length,
               .lengths = &length,
               .indices = indices.data(),
               .values = values.data(),
               .indices_row_stride = params.k,
               .slots_row_stride = params.k,
               .values_row_stride = params.k,
               .report = &report};
  }
  void Run() { ASSERT_OK(TopK(params, segment)); }

  std::vector<float> scores;
  TopKParams params;
  int32_t length;
  Numbers indices, slots;
  std::vector<float> values;
  SegmentReport report;
  TopKSegment segment;
};

TEST(ReferenceTest, TheLargestScoresAreTakenInOrderOfPosition) {
  OneRow row({1, 5, 3, 4, 2}, {.k = 3});
  row.Run();
  EXPECT_EQ(row.indices, (Numbers{1, 2, 3}));
  EXPECT_EQ(row.values, (std::vector<float>{5, 3, 4}));
}

TEST(ReferenceTest, ScoreOrderDescendsAndEqualScoresAscendByPosition) {
  OneRow row({1, 4, 3, 4, 2, 4}, {.k = 4, .order = Order::kScore});
  row.Run();
  EXPECT_EQ(row.indices, (Numbers{1, 3, 5, 2}));
}

TEST(ReferenceTest, OfEqualScoresTheLowestPositionsWin) {
  OneRow row({2, 7, 2, 2, 7, 2}, {.k = 4});
  row.Run();
  EXPECT_EQ(row.indices, (Numbers{0, 1, 2, 4}));
}

TEST(ReferenceTest, NanIsBelowMinusInfinityAndZerosAreEqual) {
  OneRow row({kNan, -kInfinity, -0.0f, 0.0f, -kNan, -1}, {.k = 5, .order = Order::kScore});
  row.Run();
  EXPECT_EQ(row.indices, (Numbers{2, 3, 5, 1, 0}));
  EXPECT_TRUE(std::isnan(row.values[4]));
}

TEST(ReferenceTest, AShortRowIsItselfAndPadding) {
  OneRow row({3, 9}, {.k = 4});
  row.Run();
  EXPECT_EQ(row.indices, (Numbers{0, 1, -1, -1}));
  EXPECT_EQ(row.values, (std::vector<float>{3, 9, -kInfinity, -kInfinity}));
}

TEST(ReferenceTest, PositionsBecomeSlotsThroughTheirPage) {
  OneRow row({1, 5, 3, 4, 2}, {.k = 3});
  const Numbers pages = {7, 2, 5};  // of two positions each
  row.segment.pages = {.page_table = pages.data(),
                       .row_stride = 3,
                       .table_rows = 1,
                       .table_columns = 3,
                       .page_size = 2};
  row.segment.slots = row.slots.data();
  row.Run();
  EXPECT_EQ(row.slots, (Numbers{15, 4, 5}));
}

TEST(ReferenceTest, AnOffsetMovesIndicesAndAStartMovesTheWindow) {
  OneRow row({9, 1, 5, 3, 9}, {.k = 2});
  const int32_t start = 1, offset = 100, length = 3;
  row.segment.row_starts = &start;
  row.segment.index_offsets = &offset;
  row.segment.lengths = &length;
  row.Run();
  EXPECT_EQ(row.indices, (Numbers{101, 102}));
}

TEST(ReferenceTest, AWindowPastTheColumnsIsPaddedAndReported) {
  OneRow row({1, 2, 3}, {.k = 2});
  const int32_t length = 4;
  row.segment.lengths = &length;
  row.Run();
  EXPECT_EQ(row.indices, (Numbers{-1, -1}));
  EXPECT_THAT(StatusFromFault(row.report.fault),
              testing::FailsWith(ErrorReason::kLengthOutOfRange, "lengths"));
  EXPECT_EQ(row.report.fault.value, 4);
  EXPECT_EQ(row.report.fault.limit, 3);
}

TEST(ReferenceTest, ABadPageIdPadsItsSlotAlone) {
  OneRow row({1, 5, 3, 4, 2}, {.k = 3});
  const Numbers pages = {7, -2, 5};
  row.segment.pages = {.page_table = pages.data(),
                       .row_stride = 3,
                       .table_rows = 1,
                       .table_columns = 3,
                       .page_size = 2};
  row.segment.slots = row.slots.data();
  row.Run();
  EXPECT_EQ(row.indices, (Numbers{1, 2, 3}));
  EXPECT_EQ(row.slots, (Numbers{15, -1, -1}));
  EXPECT_EQ(row.report.fault.entry, 1);
  EXPECT_EQ(row.report.fault.value, -2);
}

TEST(ReferenceTest, NegativeLengthsAreEmptyAndCounted) {
  OneRow row({1, 2, 3}, {.k = 2});
  const int32_t length = -4;
  row.segment.lengths = &length;
  row.Run();
  EXPECT_EQ(row.indices, (Numbers{-1, -1}));
  EXPECT_EQ(row.report.negative_rows, 1);
  EXPECT_EQ(row.report.fault.kind, 0);
}

TEST(ReferenceTest, BlockKeysAreMaximaAndTheLastIsInfinite) {
  const std::vector<float> scores = {1, 2, kNan, -3, kNan, kNan, 9};
  const auto length = static_cast<int32_t>(scores.size());
  std::vector<float> keys(5, 77);
  int32_t blocks = 0;
  SegmentReport report;
  ASSERT_OK(BlockAmax({.block_size = 2}, {.scores = scores.data(),
                                          .row_stride = 7,
                                          .rows = 1,
                                          .columns = 7,
                                          .lengths = &length,
                                          .keys = keys.data(),
                                          .keys_row_stride = 5,
                                          .keys_columns = 5,
                                          .block_counts = &blocks,
                                          .report = &report}));
  EXPECT_EQ(blocks, 4);
  EXPECT_EQ(keys[0], 2);
  EXPECT_EQ(keys[1], -3);
  EXPECT_TRUE(std::isnan(keys[2]));
  EXPECT_EQ(keys[3], kInfinity);
  EXPECT_EQ(keys[4], 77);
}

TEST(ReferenceTest, BlocksAreSortedWithoutDuplicates) {
  Numbers blocks = {9, 3, -1, 3, 11};
  Numbers slots(5, 99);
  const Numbers pages = {4, 0, 6};  // of eight positions: four blocks of two
  const int32_t length = 23;        // twelve blocks
  int32_t candidate_length = 0;
  SegmentReport report;
  ASSERT_OK(
      SortCandidateBlocks({.width = 5, .block_size = 2}, {.blocks = blocks.data(),
                                                          .blocks_row_stride = 5,
                                                          .rows = 1,
                                                          .lengths = &length,
                                                          .pages = {.page_table = pages.data(),
                                                                    .row_stride = 3,
                                                                    .table_rows = 1,
                                                                    .table_columns = 3,
                                                                    .page_size = 8},
                                                          .out_blocks = blocks.data(),
                                                          .block_slots = slots.data(),
                                                          .candidate_lengths = &candidate_length,
                                                          .out_blocks_row_stride = 5,
                                                          .block_slots_row_stride = 5,
                                                          .report = &report}));
  EXPECT_EQ(blocks, (Numbers{3, 9, 11, kPaddingBlock, kPaddingBlock}));
  EXPECT_EQ(slots, (Numbers{19, 25, 27, kPaddingBlock, kPaddingBlock}));
  EXPECT_EQ(candidate_length, 5);  // two whole blocks and the one position of the last
}

TEST(ReferenceTest, PublishKeepsTheBestBlocksAndTheNewest) {
  const std::vector<float> scores = {1, 2, 9, 0, 3, 3, 0, 0, -5};
  const int32_t length = 9;
  Numbers indices(2), blocks(2);
  int32_t candidate_length = 0;
  SegmentReport report;
  ASSERT_OK(PublishCandidates({.k = 2, .k_blocks = 2, .block_size = 2},
                              {.scores = scores.data(),
                               .row_stride = 9,
                               .rows = 1,
                               .columns = 9,
                               .lengths = &length,
                               .indices = indices.data(),
                               .blocks = blocks.data(),
                               .candidate_lengths = &candidate_length,
                               .indices_row_stride = 2,
                               .blocks_row_stride = 2,
                               .report = &report}));
  EXPECT_EQ(indices, (Numbers{2, 4}));
  EXPECT_EQ(blocks, (Numbers{1, 4}));
  EXPECT_EQ(candidate_length, 3);
}

}  // namespace
}  // namespace winnow::reference
