// winnow topk against the reference, through a server process.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/arrays.h"
#include "tests/cli/npy_bytes.h"
#include "tests/cli/run_command.h"
#include "tests/cli/temp_dir.h"
#include "tests/testing/random.h"
#include "tests/testing/score_generators.h"
#include "tests/testing/test_data.h"
#include "winnow/kernels/reference.h"

namespace winnow::cli {
namespace {

using ::testing::HasSubstr;
using winnow::testing::Random;

constexpr int64_t kRows = 12;
constexpr int64_t kColumns = 700;
constexpr int32_t kK = 64;
constexpr int32_t kPageSize = 16;
constexpr int32_t kPoolPages = 1000;
constexpr int64_t kPages = (kColumns + kPageSize - 1) / kPageSize;

// A batch of every kind of row, in memory and in files.
struct Batch {
  TempDir dir;
  std::vector<float> scores;
  std::vector<int32_t> lengths;
  std::vector<int32_t> starts;
  std::vector<int32_t> offsets;
  std::vector<int32_t> table;
  std::vector<int32_t> table_rows;

  explicit Batch(Random& random) {
    const std::vector<winnow::testing::Pattern> patterns = winnow::testing::AllPatterns();
    for (int64_t row = 0; row < kRows; ++row) {
      const auto pattern = patterns[static_cast<size_t>(random.Below(patterns.size()))];
      const std::vector<float> made = winnow::testing::MakeScores(pattern, kColumns, random);
      scores.insert(scores.end(), made.begin(), made.end());
      starts.push_back(static_cast<int32_t>(random.Below(9)));
      lengths.push_back(static_cast<int32_t>(random.Between(-1, kColumns - starts.back())));
      offsets.push_back(static_cast<int32_t>(random.Between(-1000, 1000)));
      table_rows.push_back(static_cast<int32_t>(random.Below(kRows)));
    }
    lengths[0] = 0;
    lengths[1] = -4;
    lengths[2] = kK;
    lengths[3] = kK + 1;
    table = winnow::testing::DistinctNumbers(kRows * kPages, kPoolPages, random);
    dir.Write("s.npy", NpyFloats(scores, {kRows, kColumns}));
    dir.Write("l.npy", NpyInts(lengths, {kRows}));
    dir.Write("starts.npy", NpyInts(starts, {kRows}));
    dir.Write("offsets.npy", NpyInts(offsets, {kRows, 1}));
    dir.Write("pages.npy", NpyInts(table, {kRows, kPages}));
    dir.Write("page_rows.npy", NpyInts(table_rows, {kRows}));
  }

  TopKSegment Segment() const {
    return {.scores = scores.data(),
            .row_stride = kColumns,
            .rows = kRows,
            .columns = kColumns,
            .lengths = lengths.data(),
            .row_starts = starts.data(),
            .index_offsets = offsets.data(),
            .pages = {.page_table = table.data(),
                      .page_table_rows = table_rows.data(),
                      .row_stride = kPages,
                      .table_rows = kRows,
                      .table_columns = kPages,
                      .page_size = kPageSize,
                      .pool_pages = kPoolPages},
            .indices_row_stride = kK,
            .slots_row_stride = kK,
            .values_row_stride = kK};
  }
};

struct Expected {
  std::vector<int32_t> indices = std::vector<int32_t>(kRows * kK);
  std::vector<int32_t> slots = std::vector<int32_t>(kRows * kK);
  std::vector<float> values = std::vector<float>(kRows * kK);
  SegmentReport report;

  Expected(const Batch& batch, Order order) {
    TopKSegment segment = batch.Segment();
    segment.indices = indices.data();
    segment.slots = slots.data();
    segment.values = values.data();
    segment.report = &report;
    const absl::Status status =
        reference::TopK({.k = kK, .order = order, .deterministic = true}, segment);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(report.fault.kind, 0);
  }
};

std::vector<std::string> Arguments(const Batch& batch, const std::string& order,
                                   const std::string& plan) {
  const TempDir& dir = batch.dir;
  return {"topk",
          "--scores",
          dir.File("s.npy"),
          "--lengths",
          dir.File("l.npy"),
          "--k=64",
          "--row-starts",
          dir.File("starts.npy"),
          "--index-offsets",
          dir.File("offsets.npy"),
          "--page-table",
          dir.File("pages.npy"),
          "--page-size=16",
          "--pool-pages=1000",
          "--page-table-rows",
          dir.File("page_rows.npy"),
          "--deterministic",
          "--order",
          order,
          "--plan",
          plan,
          "--out-indices",
          dir.File("i.npy"),
          "--out-slots",
          dir.File("x.npy"),
          "--out-values",
          dir.File("v.npy"),
          "--json"};
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(TopKCommandTest, EveryOutputEqualsTheReference) {
  Random random(winnow::testing::SeedFromEnvironment("WINNOW_TEST_SEED"));
  const std::pair<std::string, Order> orders[] = {
      {"any", Order::kAny}, {"position", Order::kPosition}, {"score", Order::kScore}};
  const std::string plans[] = {"none", "auto", "0"};
  for (int round = 0; round < 3; ++round) {
    const Batch batch(random);
    const Expected expected(batch, orders[round].second);
    const CommandResult result = RunOnServer(Arguments(batch, orders[round].first, plans[round]));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(ReadInts(batch.dir.File("i.npy"), kRows, kK), expected.indices);
    EXPECT_EQ(ReadInts(batch.dir.File("x.npy"), kRows, kK), expected.slots);
    EXPECT_TRUE(SameBits(ReadArray<float>(batch.dir.File("v.npy"), NpyType::kFloat32, {kRows, kK}),
                         expected.values));
    const nlohmann::json json = ParseJson(result);
    EXPECT_EQ(json["command"], "topk");
    EXPECT_EQ(json["rows"], kRows);
    EXPECT_EQ(json["k"], kK);
    EXPECT_EQ(json["negative_rows"], expected.report.negative_rows);
    EXPECT_EQ(json["outputs"]["slots"]["path"], batch.dir.File("x.npy"));
    EXPECT_GT(json["server"]["total_us"], 0.0);
  }
}

TEST(TopKCommandTest, RealRaggedRowsEqualTheReference) {
  const std::string data = WINNOW_DATA_FOLDER;
  auto rows = winnow::testing::LoadRealRows();
  ASSERT_TRUE(rows.ok()) << rows.status();
  TempDir dir;
  const CommandResult result =
      RunOnServer({"topk", "--scores", data + "/text_scores_bf16_bits.npy", "--lengths",
                   data + "/text_seq_lens_bf16.npy", "--dtype=bf16", "--ragged", "--k=512",
                   "--deterministic", "--out-indices", dir.File("i.npy")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("16 rows of up to 16,384 bfloat16 scores"));
  const std::vector<int32_t> indices = ReadInts(dir.File("i.npy"), 16, 512);
  ASSERT_EQ(indices.size(), 16u * 512);
  for (size_t row = 0; row < rows->bfloat16.size(); ++row) {
    const std::vector<float>& scores = rows->bfloat16[row];
    const int32_t length = static_cast<int32_t>(scores.size());
    std::vector<int32_t> expected(512);
    SegmentReport report;
    ASSERT_TRUE(reference::TopK({.k = 512, .deterministic = true}, {.scores = scores.data(),
                                                                    .row_stride = length,
                                                                    .rows = 1,
                                                                    .columns = length,
                                                                    .lengths = &length,
                                                                    .indices = expected.data(),
                                                                    .indices_row_stride = 512,
                                                                    .report = &report})
                    .ok());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), indices.begin() + row * 512))
        << "row " << row;
  }
}

TEST(TopKCommandTest, WithoutOutputsTheFirstResultsAreShown) {
  TempDir dir;
  const std::string scores = dir.Write("s.npy", NpyFloats({5, 1, 9, 7, 3, 2, 2, 8}, {2, 4}));
  const std::string lengths = dir.Write("l.npy", NpyInts({4, 3}, {2}));
  const CommandResult result =
      RunOnServer({"topk", "--scores", scores, "--lengths", lengths, "--k=2", "--order=score"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("row 0: 2 3\n"));
  EXPECT_THAT(result.out, HasSubstr("row 1: 0 1\n"));
}

TEST(TopKCommandTest, NumpysNamesOfTypesAreTaken) {
  TempDir dir;
  const std::string scores = dir.Write("s.npy", NpyFloats({5, 1, 9}, {1, 3}));
  const std::string lengths = dir.Write("l.npy", NpyInts({3}, {1}));
  const CommandResult result = RunOnServer(
      {"topk", "--scores", scores, "--lengths", lengths, "--k=1", "--dtype=float32", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(ParseJson(result)["dtype"], "float32");
  EXPECT_EQ(ParseJson(result)["outputs"]["indices"]["head"], nlohmann::json::parse("[[2]]"));
  const CommandResult bits =
      RunOnServer({"topk", "--scores", scores, "--lengths", lengths, "--k=1", "--dtype=bfloat16"});
  EXPECT_THAT(bits.err, HasSubstr("bfloat16 bits (uint16) are expected"));
}

TEST(TopKCommandTest, OneOfAKindIsNamedInTheSingular) {
  TempDir dir;
  const std::string scores = dir.Write("s.npy", NpyFloats({5}, {1, 1}));
  const std::string lengths = dir.Write("l.npy", NpyInts({1}, {1}));
  const CommandResult result =
      RunOnServer({"topk", "--scores", scores, "--lengths", lengths, "--k=1"});
  EXPECT_THAT(result.out, HasSubstr("top 1 of 1 row of up to 1 float32 score\n"));
}

TEST(TopKCommandTest, FilesOfNoRowsGiveArraysOfNoRows) {
  TempDir dir;
  const std::string scores = dir.Write("s.npy", NpyFloats({}, {0, 8}));
  const std::string lengths = dir.Write("l.npy", NpyInts({}, {0}));
  const CommandResult result = RunOnServer({"topk", "--scores", scores, "--lengths", lengths,
                                            "--k=2", "--out-indices", dir.File("i.npy")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(ReadInts(dir.File("i.npy"), 0, 2).empty());
}

// 40 MiB, more than one request takes.
struct LargeFile {
  static constexpr int64_t kLargeRows = 160;
  static constexpr int64_t kLargeColumns = 65536;
  TempDir dir;
  std::vector<float> scores;
  std::vector<int32_t> lengths = std::vector<int32_t>(kLargeRows, kLargeColumns);

  LargeFile() {
    Random random(20261201);
    scores.resize(kLargeRows * kLargeColumns);
    for (float& score : scores) score = static_cast<float>(random.Below(1 << 20));
    dir.Write("s.npy", NpyFloats(scores, {kLargeRows, kLargeColumns}));
  }
  CommandResult Run() {
    dir.Write("l.npy", NpyInts(lengths, {kLargeRows}));
    return RunOnServer({"topk", "--scores", dir.File("s.npy"), "--lengths", dir.File("l.npy"),
                        "--k=8", "--deterministic", "--json", "--out-indices", dir.File("i.npy")});
  }
};

TEST(TopKCommandTest, LargeFileIsSentInSeveralRequests) {
  LargeFile file;
  const CommandResult result = file.Run();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(ParseJson(result)["requests"], 1);
  std::vector<int32_t> expected(LargeFile::kLargeRows * 8);
  SegmentReport report;
  ASSERT_TRUE(
      reference::TopK({.k = 8, .deterministic = true}, {.scores = file.scores.data(),
                                                        .row_stride = LargeFile::kLargeColumns,
                                                        .rows = LargeFile::kLargeRows,
                                                        .columns = LargeFile::kLargeColumns,
                                                        .lengths = file.lengths.data(),
                                                        .indices = expected.data(),
                                                        .indices_row_stride = 8,
                                                        .report = &report})
          .ok());
  EXPECT_EQ(ReadInts(file.dir.File("i.npy"), LargeFile::kLargeRows, 8), expected);
}

TEST(TopKCommandTest, FaultInALaterRequestNamesTheRowOfTheFile) {
  LargeFile file;
  file.lengths[155] = LargeFile::kLargeColumns + 1;
  const CommandResult result = file.Run();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("65537"));
  EXPECT_THAT(result.err, HasSubstr("is row 155 of the files"));
  EXPECT_THAT(result.err, HasSubstr("--lengths"));
  EXPECT_EQ(ParseJson(result)["error"]["row"], 155);
  EXPECT_FALSE(std::filesystem::exists(file.dir.File("i.npy"))) << "nothing is written on failure";
}

}  // namespace
}  // namespace winnow::cli
