#include "client/loadgen/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace winnow::stress {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

Sample SmallSample() {
  return {.shape = {.rows = 2, .columns = 4, .k = 2},
          .scores = {1, 9, 9, 3, 5, 0, 0, 0},
          .lengths = {4, 1}};
}

client::TopKResult Selected(std::vector<int32_t> indices) {
  client::TopKResult result;
  result.indices = client::Matrix::OfInt32(2, 2, indices);
  return result;
}

TEST(ParseMixTest, PartsSizesAndWeightsAreRead) {
  const auto mix = ParseMix("topk:2x8192:512*3,amax:1x64:8");
  ASSERT_OK(mix);
  ASSERT_EQ(mix->size(), 2u);
  EXPECT_EQ((*mix)[0].rows, 2);
  EXPECT_EQ((*mix)[0].columns, 8192);
  EXPECT_EQ((*mix)[0].k, 512);
  EXPECT_EQ((*mix)[0].weight, 3);
  EXPECT_EQ((*mix)[1].operation, Operation::kBlockAmax);
  EXPECT_EQ((*mix)[1].weight, 1);
}

TEST(ParseMixTest, WhatIsNoMixIsNamed) {
  for (const char* text : {"", "topk", "topk:1:2", "topk:1x2:0", "sort:1x2:3", "topk:0x2:1",
                           "topk:1x2:1*0", "topk:1x2:1*x", "topk:1x2:1,"}) {
    EXPECT_THAT(ParseMix(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("of the mix")))
        << text;
  }
}

TEST(SampleTest, AnyChoiceAmongEqualScoresIsRight) {
  const Sample sample = SmallSample();
  EXPECT_OK(sample.Check(Selected({1, 2, 0, -1})));
  EXPECT_OK(sample.Check(Selected({2, 1, -1, 0})));
}

TEST(SampleTest, EveryKindOfWrongSelectionIsFound) {
  const Sample sample = SmallSample();
  const std::pair<std::vector<int32_t>, const char*> cases[] = {
      {{1, 3, 0, -1}, "row 0: a score that is not among the largest"},
      {{1, 1, 0, -1}, "row 0: an index twice"},
      {{1, -1, 0, -1}, "row 0: the number of results"},
      {{1, 2, 1, -1}, "row 1: an index outside the row"},
      {{1, -2, 0, -1}, "row 0: an index outside the row"}};
  for (const auto& [indices, what] : cases) {
    EXPECT_THAT(sample.Check(Selected(indices)),
                StatusIs(absl::StatusCode::kInternal, HasSubstr(what)));
  }
}

TEST(SampleTest, TheMaximaOfBlocksAreCheckedAndTheLastIsInfinite) {
  Sample sample = SmallSample();
  sample.shape.operation = Operation::kBlockAmax;
  const float infinity = std::numeric_limits<float>::infinity();
  client::BlockAmaxResult result;
  result.keys = client::Matrix::OfFloat32(2, 2, std::vector<float>{9, infinity, infinity, 0});
  EXPECT_OK(sample.Check(result));
  result.keys = client::Matrix::OfFloat32(2, 2, std::vector<float>{8, infinity, infinity, 0});
  EXPECT_THAT(sample.Check(result), StatusIs(absl::StatusCode::kInternal, HasSubstr("row 0")));
}

TEST(WorkloadTest, TheSameSeedSendsTheSame) {
  const std::vector<Shape> mix = {{.rows = 2, .columns = 64, .k = 8},
                                  {.operation = Operation::kBlockAmax, .columns = 32, .k = 8}};
  Workload one(mix, Pattern::kSpecial, 5), other(mix, Pattern::kSpecial, 5);
  for (int i = 0; i < 50; ++i) {
    const Sample& a = one.Next();
    const Sample& b = other.Next();
    EXPECT_EQ(a.scores, b.scores);
    EXPECT_EQ(a.lengths, b.lengths);
    for (const int32_t length : a.lengths) {
      EXPECT_GE(length, 0);
      EXPECT_LE(length, a.shape.columns);
    }
  }
}

}  // namespace
}  // namespace winnow::stress
