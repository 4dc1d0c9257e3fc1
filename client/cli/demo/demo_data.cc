#include "client/cli/demo/demo_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/demo/program_path.h"
#include "client/cli/file_writer.h"
#include "client/cli/input_arrays.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

constexpr char kFloat32Scores[] = "text_scores_fp32.npy";
constexpr char kFloat32Lengths[] = "text_seq_lens.npy";
constexpr char kBfloat16Scores[] = "text_scores_bf16_bits.npy";
constexpr char kBfloat16Lengths[] = "text_seq_lens_bf16.npy";

bool HasData(const std::filesystem::path& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory / kFloat32Scores, ignored);
}

absl::StatusOr<std::string> FindData() {
  const std::filesystem::path program = ProgramDirectory();
  std::filesystem::path directory = program.parent_path() / "share" / "winnow" / "data";
  if (HasData(directory)) return directory.string();
  // A build tree lies within the source tree, a few levels down.
  constexpr int kLevels = 6;
  directory = program;
  for (int level = 0; level < kLevels; ++level) {
    if (HasData(directory / "tests" / "data")) return (directory / "tests" / "data").string();
    directory = directory.parent_path();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--data: the demo's rows are neither in share/winnow/data beside the program "
                   "nor in the source tree; name the directory that holds ",
                   kFloat32Scores));
}

absl::StatusOr<std::vector<DemoRow>> LoadRows(const std::string& directory, const char* scores_name,
                                              const char* lengths_name, DType dtype) {
  const std::string lengths_path = absl::StrCat(directory, "/", lengths_name);
  WINNOW_ASSIGN_OR_RETURN(const std::vector<int32_t> lengths, ReadInt32Column(lengths_path));
  WINNOW_ASSIGN_OR_RETURN(const ScoreFile scores,
                          ScoreFile::Open({.path = absl::StrCat(directory, "/", scores_name),
                                           .lengths_path = lengths_path,
                                           .dtype = dtype,
                                           .ragged = true},
                                          lengths));
  std::vector<DemoRow> rows;
  for (int64_t row = 0; row < scores.rows(); ++row) {
    DemoRow loaded{.dtype = dtype, .length = static_cast<int32_t>(scores.widths()[row])};
    const RowRange range{.first = row, .count = 1, .columns = loaded.length};
    WINNOW_RETURN_IF_ERROR(scores.Read(range, loaded.bytes).status());
    rows.push_back(std::move(loaded));
  }
  return rows;
}

}  // namespace

float FloatOfBfloat16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

float DemoRow::Score(int64_t position) const {
  if (dtype == DType::kFloat32) {
    float score;
    memcpy(&score, bytes.data() + position * 4, 4);
    return score;
  }
  uint16_t bits;
  memcpy(&bits, bytes.data() + position * 2, 2);
  return FloatOfBfloat16(bits);
}

int64_t DemoRow::MostEqualScores() const {
  std::map<float, int64_t> counts;
  int64_t most = 0;
  for (int64_t position = 0; position < length; ++position) {
    const float score = Score(position);
    // NaN is in no order with other scores, and equal to none.
    most = std::max(most, std::isnan(score) ? int64_t{1} : ++counts[score]);
  }
  return most;
}

absl::StatusOr<DemoData> LoadDemoData(const std::string& directory) {
  DemoData data{.directory = directory};
  if (directory.empty()) {
    WINNOW_ASSIGN_OR_RETURN(data.directory, FindData());
  }
  WINNOW_ASSIGN_OR_RETURN(data.float32_rows, LoadRows(data.directory, kFloat32Scores,
                                                      kFloat32Lengths, DType::kFloat32));
  WINNOW_ASSIGN_OR_RETURN(data.bfloat16_rows, LoadRows(data.directory, kBfloat16Scores,
                                                       kBfloat16Lengths, DType::kBfloat16));
  for (const DemoRow& row : data.bfloat16_rows) {
    const size_t old_size = data.bfloat16_bits.size();
    data.bfloat16_bits.resize(old_size + static_cast<size_t>(row.length));
    if (row.length > 0) {
      memcpy(data.bfloat16_bits.data() + old_size, row.bytes.data(), row.bytes.size());
    }
  }
  if (!data.bfloat16_bits.empty()) return data;
  return absl::InvalidArgumentError(absl::StrCat(ShowPath(data.directory), "/", kBfloat16Scores,
                                                 ": no scores; use the rows that "
                                                 "come with winnow"));
}

}  // namespace winnow::cli
