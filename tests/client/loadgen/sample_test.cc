#include "client/loadgen/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "client/cli/npy.h"
#include "tests/testing/status_matchers.h"

namespace winnow::stress {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

std::shared_ptr<const Bytes> BytesOf(const std::vector<float>& scores) {
  auto bytes = std::make_shared<Bytes>(scores.size() * sizeof(float));
  memcpy(bytes->data(), scores.data(), bytes->size());
  return bytes;
}

Sample Of(const Shape& shape, const std::shared_ptr<const Bytes>& scores,
          const std::vector<int32_t>& lengths, const std::vector<int32_t>& pages = {}) {
  Sample sample;
  sample.shape = shape;
  sample.scores = scores;
  sample.lengths = lengths;
  if (!pages.empty()) sample.pages = std::make_shared<std::vector<int32_t>>(pages);
  return sample;
}

Sample SmallSample() {
  return {.shape = {.rows = 2, .columns = 4, .k = 2, .block_size = 2},
          .scores = BytesOf({1, 9, 9, 3, 5, 0, 0, 0}),
          .lengths = {4, 1}};
}

client::Matrix Ints(const std::vector<int32_t>& values, int64_t rows = 2) {
  return client::Matrix::OfInt32(rows, static_cast<int64_t>(values.size()) / rows, values);
}

client::TopKResult Selected(const std::vector<int32_t>& indices) {
  client::TopKResult result;
  result.indices = Ints(indices);
  return result;
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
  EXPECT_THAT(sample.Check(client::TopKResult()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("the shape")));
}

TEST(SampleTest, SlotsMustBeThoseOfThePositions) {
  Sample sample = SmallSample();
  sample.shape.page_size = 2;
  sample.pages = std::make_shared<std::vector<int32_t>>(std::vector<int32_t>{7, 4, 5, 6});
  client::TopKResult result = Selected({1, 2, 0, -1});
  result.slots = Ints({15, 8, 10, -1});
  EXPECT_OK(sample.Check(result));
  result.slots = Ints({15, 8, 10, 3});
  EXPECT_THAT(sample.Check(result),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("row 1: a slot")));
}

TEST(SampleTest, DeterministicSelectionsMustBeThoseOfTheReference) {
  Sample sample = SmallSample();
  sample.shape.deterministic = true;
  const std::vector<int32_t> lowest = {1, 2, 0, -1};
  EXPECT_OK(sample.Check(Selected(lowest)));
  EXPECT_THAT(sample.Check(Selected({1, 3, 0, -1})),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("row 0: indices has 3")));
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

// The row of README.md: 1 9 | 2 3 | 8 0 | 7 4 | 5 6 | 0.
TEST(SampleTest, PublishAndConsumeMustBeThoseOfTheReference) {
  const Shape shape{.operation = Operation::kPublish,
                    .rows = 1,
                    .columns = 11,
                    .k = 3,
                    .block_size = 2,
                    .k_blocks = 3,
                    .page_size = 4};
  const Sample sample = Of(shape, BytesOf({1, 9, 2, 3, 8, 0, 7, 4, 5, 6, 0}), {11}, {7, 2, 5});
  client::PublishCandidatesResult published;
  published.slots = Ints({29, 8, 10}, 1);
  published.blocks = Ints({0, 2, 5}, 1);
  published.block_slots = Ints({14, 4, 11}, 1);
  published.candidate_lengths = Ints({5}, 1);
  EXPECT_OK(sample.Check(published));
  published.block_slots = Ints({14, 5, 11}, 1);
  EXPECT_THAT(sample.Check(published),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("block_slots has 5")));

  const Shape later_shape{.operation = Operation::kConsume,
                          .rows = 1,
                          .columns = 6,
                          .k = 2,
                          .block_size = 2,
                          .k_blocks = 3};
  const Sample later = Of(later_shape, BytesOf({.5, 2, 1, 9, 3, 0}), {5}, {14, 4, 11});
  client::ConsumeCandidatesResult consumed;
  consumed.indices = Ints({3, 4}, 1);
  consumed.slots = Ints({9, 22}, 1);
  EXPECT_OK(later.Check(consumed));
  consumed.slots = Ints({9, 23}, 1);
  EXPECT_THAT(later.Check(consumed),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("slots has 23")));
}

TEST(SampleTest, RowsOfBfloat16AreWidened) {
  const std::vector<uint16_t> bits = {0x3f80, 0xc000, 0x7f80};
  auto bytes = std::make_shared<Bytes>(6);
  memcpy(bytes->data(), bits.data(), 6);
  const Shape shape{.rows = 1, .columns = 3, .dtype = DType::kBfloat16};
  const Sample sample = Of(shape, bytes, {3});
  EXPECT_THAT(sample.Row(0), ElementsAre(1, -2, std::numeric_limits<float>::infinity()));
}

TEST(ReadScoresTest, AFileGivesSizesAndTypeAndOthersAreRefusedByName) {
  char folder[] = "/tmp/winnow-scores-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/s.npy";
  const std::vector<float> scores = {1, 2, 3, 4, 5, 6};
  const auto bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(scores.data()), 24);
  ASSERT_OK(cli::WriteNpy(path, cli::NpyType::kFloat32, {2, 3}, bytes));
  Shape shape{.scores_path = path};
  const auto read = ReadScores(shape);
  ASSERT_OK(read);
  EXPECT_EQ(shape.rows, 2);
  EXPECT_EQ(shape.columns, 3);
  EXPECT_EQ(memcmp((*read)->data(), scores.data(), 24), 0);
  ASSERT_OK(cli::WriteNpy(path, cli::NpyType::kInt32, {2, 3}, bytes));
  EXPECT_THAT(ReadScores(shape), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  remove(path.c_str());
  rmdir(folder);
}

}  // namespace
}  // namespace winnow::stress
