// Arrays of the tests: written without the code under test, read with it.

#ifndef WINNOW_TESTS_CLI_ARRAYS_H_
#define WINNOW_TESTS_CLI_ARRAYS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/npy.h"
#include "gtest/gtest.h"

namespace winnow::cli {

// All elements of a file of that type; `shape` is checked too.
template <typename T>
std::vector<T> ReadArray(const std::string& path, NpyType type, const std::vector<int64_t>& shape) {
  auto file = NpyFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return {};
  EXPECT_EQ(file->header().type, type) << path;
  EXPECT_EQ(file->header().shape, shape) << path;
  std::vector<T> values(static_cast<size_t>(file->header().data_bytes) / sizeof(T));
  const absl::Status status =
      file->Read(0, file->element_count(), reinterpret_cast<std::byte*>(values.data()));
  EXPECT_TRUE(status.ok()) << status;
  return values;
}

inline std::vector<int32_t> ReadInts(const std::string& path, int64_t rows, int64_t columns) {
  return ReadArray<int32_t>(path, NpyType::kInt32, {rows, columns});
}

}  // namespace winnow::cli

#endif  // WINNOW_TESTS_CLI_ARRAYS_H_
