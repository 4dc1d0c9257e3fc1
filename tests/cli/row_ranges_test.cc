#include "client/cli/row_ranges.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace winnow::cli {
namespace {

using ::testing::ElementsAre;

TEST(SplitRowsTest, RowsThatFitAreOneRange) {
  const std::vector<int64_t> widths = {10, 30, 20};
  EXPECT_THAT(SplitRows(widths, {.score_bytes = 4}, {.rows = 100, .bytes = 360}),
              ElementsAre(RowRange{.first = 0, .count = 3, .columns = 30}));
}

TEST(SplitRowsTest, NoRowsAreOneEmptyRange) {
  EXPECT_THAT(SplitRows({}, {}, {}), ElementsAre(RowRange{}));
}

TEST(SplitRowsTest, EachRowTakesTheWidthOfTheWidest) {
  const std::vector<int64_t> widths = {10, 30, 20};
  EXPECT_THAT(SplitRows(widths, {.score_bytes = 4}, {.rows = 100, .bytes = 359}),
              ElementsAre(RowRange{0, 2, 30}, RowRange{2, 1, 20}));
}

TEST(SplitRowsTest, RowTooLargeByItselfIsARangeOfItsOwn) {
  const std::vector<int64_t> widths = {1, 1000, 1, 1};
  EXPECT_THAT(SplitRows(widths, {.score_bytes = 4}, {.rows = 100, .bytes = 100}),
              ElementsAre(RowRange{0, 1, 1}, RowRange{1, 1, 1000}, RowRange{2, 2, 1}));
}

TEST(SplitRowsTest, RowCountAndOutputsLimitToo) {
  const std::vector<int64_t> widths(5, 1);
  EXPECT_EQ(SplitRows(widths, {}, {.rows = 2, .bytes = 1 << 20}).size(), 3u);
  EXPECT_EQ(SplitRows(widths, {.output_bytes = 50}, {.rows = 9, .bytes = 100}).size(), 3u);
  EXPECT_EQ(
      SplitRows(widths, {.input_bytes = 20, .request_bytes = 40}, {.rows = 9, .bytes = 100}).size(),
      3u);
}

TEST(SplitRowsTest, RangesCoverAllRowsInOrderWithinTheLimits) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> widths(random() % 60);
    for (int64_t& width : widths) width = static_cast<int64_t>(random() % 50);
    const RowCosts costs{.score_bytes = 2, .input_bytes = 8, .output_bytes = 16};
    const RowLimits limits{.rows = static_cast<int64_t>(1 + random() % 20), .bytes = 200};
    int64_t next = 0;
    for (const RowRange& range : SplitRows(widths, costs, limits)) {
      EXPECT_EQ(range.first, next);
      next += range.count;
      EXPECT_LE(range.count, limits.rows);
      EXPECT_LE(range.count * (range.columns * 2 + 8), limits.bytes);
      EXPECT_LE(range.count * 16, limits.bytes);
    }
    EXPECT_EQ(next, static_cast<int64_t>(widths.size()));
  }
}

}  // namespace
}  // namespace winnow::cli
