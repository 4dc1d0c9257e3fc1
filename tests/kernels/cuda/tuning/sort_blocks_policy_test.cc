#include "kernels/cuda/tuning/sort_blocks_policy.h"

#include <gtest/gtest.h>

namespace winnow::cuda {
namespace {

constexpr DeviceTraits kH200 = {.capability = 90, .multiprocessors = 132};

TEST(SortBlocksPolicyTest, RowsWithAMultiprocessorEachGetTheWideBlock) {
  EXPECT_EQ(ChooseSortBlocksPolicy(kH200, 1, 131072).threads, 1024);
  EXPECT_EQ(ChooseSortBlocksPolicy(kH200, 132, 131072).threads, 1024);
  EXPECT_EQ(ChooseSortBlocksPolicy(kH200, 133, 131072).threads, 512);
}

TEST(SortBlocksPolicyTest, TheSmallBitmapServesRowsThatItCovers) {
  EXPECT_EQ(ChooseSortBlocksPolicy(kH200, 1, 32768).bitmap_words, 1024);
  EXPECT_EQ(ChooseSortBlocksPolicy(kH200, 1, 32769).bitmap_words, 4096);
}

TEST(SortBlocksPolicyTest, AnUnknownLengthGetsTheLargeBitmap) {
  EXPECT_EQ(ChooseSortBlocksPolicy(kH200, 1, 0).bitmap_words, 4096);
}

TEST(SortBlocksPolicyTest, APolicyPrintsItself) {
  EXPECT_EQ(ToString(ChooseSortBlocksPolicy(kH200, 1, 0)),
            "threads 1024, bitmap_words 4096, release_early");
  EXPECT_EQ(ToString(ChooseSortBlocksPolicy(kH200, 1000, 8)), "threads 512, bitmap_words 1024");
}

}  // namespace
}  // namespace winnow::cuda
