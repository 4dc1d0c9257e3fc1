#include "client/loadgen/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace winnow::stress {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(ParseMixTest, PartsSizesAndWeightsAreRead) {
  const auto mix = ParseMix("topk:2x8192:512*3,amax:1x64:16,topk:a.npy:7");
  ASSERT_OK(mix);
  ASSERT_EQ(mix->size(), 3u);
  EXPECT_EQ((*mix)[0].rows, 2);
  EXPECT_EQ((*mix)[0].columns, 8192);
  EXPECT_EQ((*mix)[0].k, 512);
  EXPECT_EQ((*mix)[0].weight, 3);
  EXPECT_EQ((*mix)[1].operation, Operation::kBlockAmax);
  EXPECT_EQ((*mix)[1].block_size, 16);
  EXPECT_EQ((*mix)[1].weight, 1);
  EXPECT_EQ((*mix)[2].scores_path, "a.npy");
  EXPECT_EQ((*mix)[2].k, 7);
}

TEST(ParseMixTest, WhatIsNoMixIsNamed) {
  for (const char* text : {"", "topk", "topk:1:2", "topk:1x2:0", "sort:1x2:3", "topk:0x2:1",
                           "topk:1x2:1*0", "topk:1x2:1*x", "topk:1x2:1*", "topk:1x2:1*inf",
                           "topk:1x2:1*nan", "topk:1x2:1*+2", "topk:1x2:1* 2", "topk:1x2:1,",
                           "topk:+1x2:1", "topk:1x 2:1", "topk:1x2:+1", "topk:a.txt:1"}) {
    EXPECT_THAT(ParseMix(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("of the mix")))
        << text;
  }
}

}  // namespace
}  // namespace winnow::stress
