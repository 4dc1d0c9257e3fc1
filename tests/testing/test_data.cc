#include "tests/testing/test_data.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::testing {
namespace {

std::string DataFolder() {
  if (const char* folder = std::getenv("WINNOW_TEST_DATA"); folder != nullptr && *folder != '\0') {
    return folder;
  }
  return WINNOW_TEST_DATA_FOLDER;
}

// The elements of a one-dimensional .npy file of format version 1, whose type must be `descr`.
template <typename T>
absl::StatusOr<std::vector<T>> LoadNpy(const std::string& name, const char* descr) {
  const std::string path = absl::StrCat(DataFolder(), "/", name);
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, " is missing; set WINNOW_TEST_DATA"));
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr size_t kPrefix = 10;
  if (bytes.size() < kPrefix || bytes.compare(0, 6, "\x93NUMPY") != 0) {
    return absl::DataLossError(absl::StrCat(path, " is not a .npy file"));
  }
  const size_t header = static_cast<uint8_t>(bytes[8]) + 256 * static_cast<uint8_t>(bytes[9]);
  if (bytes.size() < kPrefix + header || !absl::StrContains(bytes.substr(kPrefix, header), descr)) {
    return absl::DataLossError(absl::StrCat(path, " does not hold ", descr));
  }
  std::vector<T> values((bytes.size() - kPrefix - header) / sizeof(T));
  std::memcpy(values.data(), bytes.data() + kPrefix + header, values.size() * sizeof(T));
  return values;
}

template <typename T, typename Convert>
absl::StatusOr<std::vector<std::vector<float>>> LoadRows(const std::string& scores_name,
                                                         const char* descr,
                                                         const std::string& lengths_name,
                                                         Convert convert) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<T> scores, LoadNpy<T>(scores_name, descr));
  WINNOW_ASSIGN_OR_RETURN(const auto lengths, LoadNpy<int32_t>(lengths_name, "<i4"));
  std::vector<std::vector<float>> rows;
  size_t next = 0;
  for (const int32_t length : lengths) {
    if (next + length > scores.size()) return absl::DataLossError("rows longer than the scores");
    std::vector<float> row(length);
    for (float& score : row) score = convert(scores[next++]);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

absl::StatusOr<RealRows> LoadRealRows() {
  RealRows rows;
  WINNOW_ASSIGN_OR_RETURN(rows.float32,
                          LoadRows<float>("text_scores_fp32.npy", "<f4", "text_seq_lens.npy",
                                          [](float score) { return score; }));
  WINNOW_ASSIGN_OR_RETURN(
      rows.bfloat16, LoadRows<uint16_t>("text_scores_bf16_bits.npy", "<u2",
                                        "text_seq_lens_bf16.npy", [](uint16_t bits) {
                                          const uint32_t wide = static_cast<uint32_t>(bits) << 16;
                                          float score;
                                          std::memcpy(&score, &wide, sizeof(score));
                                          return score;
                                        }));
  return rows;
}

}  // namespace winnow::testing
