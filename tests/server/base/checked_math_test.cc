#include "server/base/checked_math.h"

#include <gtest/gtest.h>

namespace winnow::server {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(CheckedMathTest, SumsAndProductsThatFitAreExact) {
  EXPECT_EQ(CheckedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedMultiply(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(CheckedMultiply(-3, 4), -12);
}

TEST(CheckedMathTest, SumsAndProductsThatDoNotFitSaySo) {
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedMultiply(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(SaturatingAdd(kMax, kMax), kMax);
  EXPECT_EQ(SaturatingMultiply(kMax, 2), kMax);
}

TEST(CheckedMathTest, TheExtentLeavesOutTheGapAfterTheLastRow) {
  EXPECT_EQ(CheckedExtent(3, 5, 8), 21);
  EXPECT_EQ(CheckedExtent(1, 5, kMax), 5);
  EXPECT_EQ(CheckedExtent(0, 5, 8), 0);
  EXPECT_EQ(CheckedExtent(7, 0, 8), 0);
}

TEST(CheckedMathTest, TheExtentOfImpossibleShapesIsNotANumber) {
  EXPECT_EQ(CheckedExtent(-1, 5, 8), std::nullopt);
  EXPECT_EQ(CheckedExtent(1, -5, 8), std::nullopt);
  EXPECT_EQ(CheckedExtent(3, 5, kMax), std::nullopt);
  EXPECT_EQ(CheckedExtent(2, 5, kMax - 4), std::nullopt);
}

TEST(CheckedMathTest, AlignUpGoesToTheNextMultiple) {
  EXPECT_EQ(AlignUp(0, 256), 0);
  EXPECT_EQ(AlignUp(1, 256), 256);
  EXPECT_EQ(AlignUp(256, 256), 256);
  EXPECT_EQ(AlignUp(257, 256), 512);
}

}  // namespace
}  // namespace winnow::server
