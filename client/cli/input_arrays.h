// The arrays that commands read, with the checks that concern files: type, number of dimensions,
// rows that belong together. What the operations demand of the numbers is the server's to check.
// Errors are InvalidArgument and name the file. Next: npy.h.

#ifndef WINNOW_CLIENT_CLI_INPUT_ARRAYS_H_
#define WINNOW_CLIENT_CLI_INPUT_ARRAYS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cli/npy.h"
#include "client/cli/row_ranges.h"
#include "winnow/client/tensor.h"
#include "winnow/kernels/dtype.h"

namespace winnow::cli {

inline constexpr int64_t kMaxFileRows = 1 << 20;  // a command splits them into requests

// A whole int32 vector, [rows] or [rows, 1], of at most kMaxFileRows.
absl::StatusOr<std::vector<int32_t>> ReadInt32Column(const std::string& path);

// The same, and it must have `rows` rows as `other_path` has.
absl::StatusOr<std::vector<int32_t>> ReadInt32Column(const std::string& path, int64_t rows,
                                                     const std::string& other_path);

// The rows of a column that belong to a request.
client::MatrixView RowsOf(absl::Span<const int32_t> column, const RowRange& range);

// An int32 matrix in a file: page tables, block ids.
class Int32MatrixFile {
 public:
  // `max_columns`: more is refused before memory is reserved.
  static absl::StatusOr<Int32MatrixFile> Open(const std::string& path, int64_t max_columns);

  const std::string& path() const { return file_.path(); }
  int64_t rows() const { return file_.header().shape[0]; }
  int64_t columns() const { return file_.header().shape[1]; }

  // Rows [first, first + count), which must be there.
  absl::StatusOr<std::vector<int32_t>> Read(int64_t first, int64_t count) const;

 private:
  explicit Int32MatrixFile(NpyFile file) : file_(std::move(file)) {}
  NpyFile file_;
};

// InvalidArgument unless both have as many rows.
absl::Status CheckSameRows(const std::string& path, int64_t rows, const std::string& other_path,
                           int64_t other_rows);

// Rows of scores in a file: a matrix, or ragged rows one after another.
class ScoreFile {
 public:
  struct Options {
    std::string path;
    std::string lengths_path;
    DType dtype = DType::kFloat32;  // kFloat32, or kBfloat16 as uint16 bits
    bool ragged = false;            // one dimension; row r has max(lengths[r], 0) scores
  };
  static absl::StatusOr<ScoreFile> Open(const Options& options, absl::Span<const int32_t> lengths);

  DType dtype() const { return dtype_; }
  int64_t rows() const { return static_cast<int64_t>(widths_.size()); }
  // Scores of each row; of a matrix its columns.
  const std::vector<int64_t>& widths() const { return widths_; }
  int64_t widest() const;

  // The rows of `range` with range.columns columns each, in the order of memory; `bytes` is reused.
  // The view is of `bytes`. Memory past a ragged row is 0.
  absl::StatusOr<client::MatrixView> Read(const RowRange& range,
                                          std::vector<std::byte>& bytes) const;

 private:
  ScoreFile(NpyFile file, DType dtype, std::vector<int64_t> widths);

  NpyFile file_;
  DType dtype_;
  std::vector<int64_t> widths_;
  std::vector<int64_t> starts_;  // first element of each row
};

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_INPUT_ARRAYS_H_
