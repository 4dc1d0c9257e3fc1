#include "winnow/client/execute.h"

#include <gtest/gtest.h>

#include <vector>

namespace winnow::client {
namespace {

const std::vector<float> kScores(2 * 20);
const std::vector<int32_t> kLengths(2);

TEST(ExecuteTest, StepsAreNumberedAsTheyAreAdded) {
  ExecuteBuilder chain;
  EXPECT_EQ(chain.TopK({}).index(), 0);
  EXPECT_EQ(chain.BlockAmax({}).index(), 1);
  EXPECT_EQ(chain.SortCandidateBlocks({}).index(), 2);
  ASSERT_EQ(chain.request().steps.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<BlockAmaxRequest>(chain.request().steps[1]));
}

TEST(ExecuteTest, OutputsHaveTheShapeThatTheStepWillGiveThem) {
  ExecuteBuilder chain;
  const Step keys =
      chain.BlockAmax({.scores = Float32Matrix(kScores.data(), 2, 20), .keys = Placement::kKeep});
  const TensorRef output = keys.Output(OutputName::kKeys);
  EXPECT_EQ(output.dtype(), DType::kFloat32);
  EXPECT_EQ(output.rows(), 2);
  EXPECT_EQ(output.columns(), 3);  // blocks of 8
  EXPECT_EQ(keys.Output(OutputName::kBlockCounts).columns(), 1);

  const Step top = chain.TopK({.scores = output, .k = 7});
  EXPECT_EQ(top.Output(OutputName::kIndices).rows(), 2);
  EXPECT_EQ(top.Output(OutputName::kIndices).columns(), 7);
  EXPECT_EQ(top.Output(OutputName::kValues).dtype(), DType::kFloat32);

  const Step sorted = chain.SortCandidateBlocks({.blocks = top.Output(OutputName::kIndices)});
  EXPECT_EQ(sorted.Output(OutputName::kBlocks).columns(), 7);
  EXPECT_EQ(sorted.Output(OutputName::kCandidateLengths).columns(), 1);
  EXPECT_EQ(sorted.Output(OutputName::kBlocks).step_output()->step_index, 2);
}

TEST(ExecuteTest, TheKeysWidthAndBlockSizeOfTheRequestCount) {
  ExecuteBuilder chain;
  const MatrixView scores = Float32Matrix(kScores.data(), 2, 20);
  EXPECT_EQ(
      chain.BlockAmax({.scores = scores, .block_size = 4}).Output(OutputName::kKeys).columns(), 5);
  EXPECT_EQ(
      chain.BlockAmax({.scores = scores, .key_columns = 9}).Output(OutputName::kKeys).columns(), 9);
}

TEST(ExecuteTest, AnOutputThatTheOperationDoesNotHaveIsAbsent) {
  ExecuteBuilder chain;
  EXPECT_FALSE(chain.TopK({}).Output(OutputName::kKeys).is_set());
}

}  // namespace
}  // namespace winnow::client
