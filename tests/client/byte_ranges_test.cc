#include "client/src/byte_ranges.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace winnow::client {
namespace {

TEST(ByteRangesTest, AnEmptySetHoldsNothing) {
  const ByteRanges ranges;
  EXPECT_TRUE(ranges.empty());
  EXPECT_FALSE(ranges.Intersects(0, 100));
  EXPECT_FALSE(ranges.Intersects(StridedBytes{0, 4, 8, 16}));
}

TEST(ByteRangesTest, GapsBetweenRowsAreNotPartOfAMatrix) {
  ByteRanges ranges;
  ranges.Add(8, 16);  // the gap of rows of 8 bytes, 16 apart
  EXPECT_FALSE(ranges.Intersects(StridedBytes{0, 2, 8, 16}));
  EXPECT_TRUE(ranges.Intersects(StridedBytes{0, 2, 9, 16}));
  EXPECT_TRUE(ranges.Intersects(StridedBytes{0, 2, 8, 8}));
  ranges.Add(0, 32);
  ranges.Remove(StridedBytes{0, 2, 8, 16});
  EXPECT_FALSE(ranges.Intersects(0, 8));
  EXPECT_TRUE(ranges.Intersects(8, 9));
  EXPECT_FALSE(ranges.Intersects(16, 24));
  EXPECT_TRUE(ranges.Intersects(24, 25));
}

TEST(ByteRangesTest, NumbersThatDoNotFitHoldNoByte) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  ByteRanges ranges;
  ranges.Add(0, kHuge);
  for (const StridedBytes& bytes :
       {StridedBytes{kHuge, 1, 8, 8}, StridedBytes{0, kHuge, 8, 8}, StridedBytes{-1, 1, 8, 8},
        StridedBytes{0, -1, 8, 8}, StridedBytes{0, 2, 8, kHuge}, StridedBytes{0, 1, 0, 0}}) {
    EXPECT_FALSE(ranges.Intersects(bytes));
    ranges.Remove(bytes);
  }
  EXPECT_TRUE(ranges.Intersects(0, 1));
}

TEST(ByteRangesTest, BehavesAsOneFlagPerByte) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr int kBytes = 64;
  ByteRanges ranges;
  std::vector<bool> flags(kBytes, false);
  for (int turn = 0; turn < 3000; ++turn) {
    const int64_t begin = random() % kBytes;
    const int64_t end = begin + random() % (kBytes - begin + 1);
    switch (random() % 3) {
      case 0:
        ranges.Add(begin, end);
        for (int64_t i = begin; i < end; ++i) flags[i] = true;
        break;
      case 1:
        ranges.Remove(begin, end);
        for (int64_t i = begin; i < end; ++i) flags[i] = false;
        break;
      default: {
        bool any = false;
        for (int64_t i = begin; i < end; ++i) any = any || flags[i];
        ASSERT_EQ(ranges.Intersects(begin, end), any) << "turn " << turn;
      }
    }
    bool all_clear = true;
    for (const bool flag : flags) all_clear = all_clear && !flag;
    ASSERT_EQ(ranges.empty(), all_clear) << "turn " << turn;
  }
}

}  // namespace
}  // namespace winnow::client
