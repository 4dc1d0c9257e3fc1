// winnow block-amax, sort-blocks, publish and consume against the reference.

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/arrays.h"
#include "tests/cli/npy_bytes.h"
#include "tests/cli/run_command.h"
#include "tests/cli/temp_dir.h"
#include "tests/testing/random.h"
#include "tests/testing/score_generators.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/reference.h"

namespace winnow::cli {
namespace {

using winnow::testing::Random;

constexpr int64_t kRows = 6;
constexpr int64_t kColumns = 1500;
constexpr int32_t kK = 40;
constexpr int32_t kBlocksKept = 32;
constexpr int32_t kPageSize = 64;
constexpr int64_t kPages = (kColumns + kPageSize - 1) / kPageSize;
constexpr int64_t kBlocks = (kColumns + kDefaultBlockSize - 1) / kDefaultBlockSize;

struct Batch {
  TempDir dir;
  std::vector<float> scores;
  std::vector<int32_t> lengths = {1500, 0, -1, 1, 257, 1023};
  std::vector<int32_t> table;

  explicit Batch(Random& random) {
    for (int64_t row = 0; row < kRows; ++row) {
      const std::vector<float> made =
          winnow::testing::MakeScores(winnow::testing::Pattern::kRelu, kColumns, random);
      scores.insert(scores.end(), made.begin(), made.end());
    }
    table = winnow::testing::DistinctNumbers(kRows * kPages, 4096, random);
    dir.Write("s.npy", NpyFloats(scores, {kRows, kColumns}));
    dir.Write("l.npy", NpyInts(lengths, {kRows}));
    dir.Write("p.npy", NpyInts(table, {kRows, kPages}));
  }

  PageTransform Pages() const {
    return {.page_table = table.data(),
            .row_stride = kPages,
            .table_rows = kRows,
            .table_columns = kPages,
            .page_size = kPageSize};
  }
};

Random SeededRandom() { return Random(winnow::testing::SeedFromEnvironment("WINNOW_TEST_SEED")); }

TEST(BlockAmaxCommandTest, EqualsTheReference) {
  Random random = SeededRandom();
  const Batch batch(random);
  const CommandResult result =
      RunOnServer({"block-amax", "--scores", batch.dir.File("s.npy"), "--lengths",
                   batch.dir.File("l.npy"), "--out", batch.dir.File("keys.npy"),
                   "--out-block-counts", batch.dir.File("counts.npy"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<float> keys(kRows * kBlocks);
  std::vector<int32_t> counts(kRows);
  SegmentReport report;
  ASSERT_TRUE(reference::BlockAmax({}, {.scores = batch.scores.data(),
                                        .row_stride = kColumns,
                                        .rows = kRows,
                                        .columns = kColumns,
                                        .lengths = batch.lengths.data(),
                                        .keys = keys.data(),
                                        .keys_row_stride = kBlocks,
                                        .keys_columns = kBlocks,
                                        .block_counts = counts.data(),
                                        .report = &report})
                  .ok());
  EXPECT_EQ(ReadArray<float>(batch.dir.File("keys.npy"), NpyType::kFloat32, {kRows, kBlocks}),
            keys);
  EXPECT_EQ(ReadInts(batch.dir.File("counts.npy"), kRows, 1), counts);
  EXPECT_EQ(ParseJson(result)["negative_rows"], 1);
}

TEST(SortBlocksCommandTest, EqualsTheReference) {
  Random random = SeededRandom();
  const Batch batch(random);
  constexpr int32_t kWidth = 24;
  std::vector<int32_t> ids;
  for (int32_t length : batch.lengths) {
    const int64_t blocks = (std::max(length, 0) + 7) / 8;
    for (int32_t i = 0; i < kWidth; ++i) {
      ids.push_back(blocks == 0 ? -1 : static_cast<int32_t>(random.Between(-1, blocks - 1)));
    }
  }
  batch.dir.Write("b.npy", NpyInts(ids, {kRows, kWidth}));
  const CommandResult result =
      RunOnServer({"sort-blocks", "--blocks", batch.dir.File("b.npy"), "--lengths",
                   batch.dir.File("l.npy"), "--page-table", batch.dir.File("p.npy"),
                   "--page-size=64", "--out-blocks", batch.dir.File("o.npy"), "--out-slots",
                   batch.dir.File("x.npy"), "--out-candidate-lengths", batch.dir.File("c.npy")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<int32_t> blocks(kRows * kWidth);
  std::vector<int32_t> slots(kRows * kWidth);
  std::vector<int32_t> lengths(kRows);
  SegmentReport report;
  ASSERT_TRUE(
      reference::SortCandidateBlocks({.width = kWidth}, {.blocks = ids.data(),
                                                         .blocks_row_stride = kWidth,
                                                         .rows = kRows,
                                                         .lengths = batch.lengths.data(),
                                                         .pages = batch.Pages(),
                                                         .out_blocks = blocks.data(),
                                                         .block_slots = slots.data(),
                                                         .candidate_lengths = lengths.data(),
                                                         .out_blocks_row_stride = kWidth,
                                                         .block_slots_row_stride = kWidth,
                                                         .report = &report})
          .ok());
  EXPECT_EQ(ReadInts(batch.dir.File("o.npy"), kRows, kWidth), blocks);
  EXPECT_EQ(ReadInts(batch.dir.File("x.npy"), kRows, kWidth), slots);
  EXPECT_EQ(ReadInts(batch.dir.File("c.npy"), kRows, 1), lengths);
}

CommandResult PublishFiles(const Batch& batch) {
  return RunOnServer({"publish",
                      "--scores",
                      batch.dir.File("s.npy"),
                      "--lengths",
                      batch.dir.File("l.npy"),
                      "--k=40",
                      "--k-blocks=32",
                      "--page-table",
                      batch.dir.File("p.npy"),
                      "--page-size=64",
                      "--deterministic",
                      "--out-slots",
                      batch.dir.File("slots.npy"),
                      "--out-indices",
                      batch.dir.File("indices.npy"),
                      "--out-blocks",
                      batch.dir.File("blocks.npy"),
                      "--out-block-slots",
                      batch.dir.File("block_slots.npy"),
                      "--out-candidate-lengths",
                      batch.dir.File("candidate_lengths.npy")});
}

TEST(PublishCommandTest, EqualsTheReference) {
  Random random = SeededRandom();
  const Batch batch(random);
  const CommandResult result = PublishFiles(batch);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<int32_t> slots(kRows * kK);
  std::vector<int32_t> indices(kRows * kK);
  std::vector<int32_t> blocks(kRows * kBlocksKept);
  std::vector<int32_t> block_slots(kRows * kBlocksKept);
  std::vector<int32_t> lengths(kRows);
  SegmentReport report;
  ASSERT_TRUE(
      reference::PublishCandidates({.k = kK, .k_blocks = kBlocksKept, .deterministic = true},
                                   {.scores = batch.scores.data(),
                                    .row_stride = kColumns,
                                    .rows = kRows,
                                    .columns = kColumns,
                                    .lengths = batch.lengths.data(),
                                    .pages = batch.Pages(),
                                    .slots = slots.data(),
                                    .indices = indices.data(),
                                    .blocks = blocks.data(),
                                    .block_slots = block_slots.data(),
                                    .candidate_lengths = lengths.data(),
                                    .slots_row_stride = kK,
                                    .indices_row_stride = kK,
                                    .blocks_row_stride = kBlocksKept,
                                    .block_slots_row_stride = kBlocksKept,
                                    .report = &report})
          .ok());
  EXPECT_EQ(ReadInts(batch.dir.File("slots.npy"), kRows, kK), slots);
  EXPECT_EQ(ReadInts(batch.dir.File("indices.npy"), kRows, kK), indices);
  EXPECT_EQ(ReadInts(batch.dir.File("blocks.npy"), kRows, kBlocksKept), blocks);
  EXPECT_EQ(ReadInts(batch.dir.File("block_slots.npy"), kRows, kBlocksKept), block_slots);
  EXPECT_EQ(ReadInts(batch.dir.File("candidate_lengths.npy"), kRows, 1), lengths);
}

TEST(ConsumeCommandTest, TakesWhatPublishWroteAndEqualsTheReference) {
  Random random = SeededRandom();
  const Batch batch(random);
  ASSERT_EQ(PublishFiles(batch).exit_code, 0);
  constexpr int32_t kCandidates = kBlocksKept * kDefaultBlockSize;
  std::vector<uint16_t> bits;
  for (int64_t i = 0; i < kRows * kCandidates; ++i) {
    bits.push_back(winnow::testing::ToBfloat16(static_cast<float>(random.Below(50))));
  }
  batch.dir.Write("c.npy", NpyOf("<u2", bits, {kRows, kCandidates}));
  const CommandResult result =
      RunOnServer({"consume", "--scores", batch.dir.File("c.npy"), "--candidate-lengths",
                   batch.dir.File("candidate_lengths.npy"), "--block-slots",
                   batch.dir.File("block_slots.npy"), "--k=40", "--deterministic", "--out-slots",
                   batch.dir.File("x.npy"), "--out-values", batch.dir.File("v.npy")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<int32_t> lengths = ReadInts(batch.dir.File("candidate_lengths.npy"), kRows, 1);
  const std::vector<int32_t> table =
      ReadInts(batch.dir.File("block_slots.npy"), kRows, kBlocksKept);
  std::vector<int32_t> slots(kRows * kK);
  std::vector<uint16_t> values(kRows * kK);
  SegmentReport report;
  ASSERT_TRUE(reference::TopK({.dtype = DType::kBfloat16, .k = kK, .deterministic = true},
                              {.scores = bits.data(),
                               .row_stride = kCandidates,
                               .rows = kRows,
                               .columns = kCandidates,
                               .lengths = lengths.data(),
                               .pages = {.page_table = table.data(),
                                         .row_stride = kBlocksKept,
                                         .table_rows = kRows,
                                         .table_columns = kBlocksKept,
                                         .page_size = kDefaultBlockSize},
                               .slots = slots.data(),
                               .values = values.data(),
                               .slots_row_stride = kK,
                               .values_row_stride = kK,
                               .report = &report})
                  .ok());
  EXPECT_EQ(ReadInts(batch.dir.File("x.npy"), kRows, kK), slots);
  EXPECT_EQ(ReadArray<uint16_t>(batch.dir.File("v.npy"), NpyType::kUint16, {kRows, kK}), values);
}

}  // namespace
}  // namespace winnow::cli
