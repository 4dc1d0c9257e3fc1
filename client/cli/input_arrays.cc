#include "client/cli/input_arrays.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/file_writer.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

absl::Status Bad(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(ShowPath(path), ": ", what));
}

absl::Status CheckRowCount(const std::string& path, int64_t rows) {
  if (rows <= kMaxFileRows) return absl::OkStatus();
  return Bad(
      path, absl::StrCat(rows, " rows; at most ", kMaxFileRows, " in one command, split the file"));
}

absl::Status CheckType(const NpyFile& file, NpyType wanted) {
  if (file.header().type == wanted) return absl::OkStatus();
  return Bad(file.path(),
             absl::StrCat(Name(file.header().type), "; ", Name(wanted),
                          " is needed here, save it with .astype(np.", Name(wanted), ")"));
}

absl::Status CheckScoreType(const NpyFile& file, DType dtype) {
  const NpyType type = file.header().type;
  if (type == NpyType::kInt32) {
    return Bad(file.path(), "int32; scores are float32, or bfloat16 bits as uint16");
  }
  if (dtype == DType::kBfloat16 && type == NpyType::kFloat32) {
    return Bad(file.path(),
               "float32, but bfloat16 bits (uint16) are expected; give --dtype=fp32, or save the "
               "bits as uint16");
  }
  if (dtype == DType::kFloat32 && type == NpyType::kUint16) {
    return Bad(file.path(), "uint16; give --dtype=bf16 if these are bfloat16 bits");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> RaggedWidths(const NpyFile& file,
                                                  const std::string& lengths_path,
                                                  absl::Span<const int32_t> lengths) {
  if (file.header().shape.size() != 1) {
    return Bad(file.path(), "two dimensions; leave out --ragged, which is for one");
  }
  std::vector<int64_t> widths;
  int64_t sum = 0;
  for (int32_t length : lengths) {
    const int64_t width = std::max(length, 0);
    if (width > kMaxColumns) {
      return Bad(lengths_path, absl::StrCat("row ", widths.size(), " has ", width,
                                            " scores; at most ", kMaxColumns, " in a row"));
    }
    widths.push_back(width);
    sum += width;
  }
  if (sum != file.element_count()) {
    return Bad(lengths_path,
               absl::StrCat("the lengths add up to ", sum, ", but ", ShowPath(file.path()),
                            " holds ", CountText(file.element_count(), "score"),
                            "; with --ragged they must be equal"));
  }
  return widths;
}

absl::StatusOr<std::vector<int64_t>> MatrixWidths(const NpyFile& file,
                                                  const std::string& lengths_path,
                                                  int64_t lengths) {
  const std::vector<int64_t>& shape = file.header().shape;
  if (shape.size() != 2) {
    return Bad(file.path(),
               "one dimension; give --ragged if its rows stand one after another, or save it with "
               ".reshape(rows, -1)");
  }
  if (shape[1] > kMaxColumns) {
    return Bad(file.path(),
               absl::StrCat(shape[1], " columns; at most ", kMaxColumns, " scores in a row"));
  }
  WINNOW_RETURN_IF_ERROR(CheckSameRows(lengths_path, lengths, file.path(), shape[0]));
  return std::vector<int64_t>(static_cast<size_t>(shape[0]), shape[1]);
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> ReadInt32Column(const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const NpyFile file, NpyFile::Open(path));
  WINNOW_RETURN_IF_ERROR(CheckType(file, NpyType::kInt32));
  const std::vector<int64_t>& shape = file.header().shape;
  if (shape.size() == 2 && shape[1] != 1) {
    return Bad(path, absl::StrCat("shape (", shape[0], ", ", shape[1],
                                  "); one number a row is needed, save it with .reshape(-1)"));
  }
  WINNOW_RETURN_IF_ERROR(CheckRowCount(path, shape[0]));
  std::vector<int32_t> values(static_cast<size_t>(shape[0]));
  WINNOW_RETURN_IF_ERROR(file.Read(0, shape[0], reinterpret_cast<std::byte*>(values.data())));
  return values;
}

absl::StatusOr<std::vector<int32_t>> ReadInt32Column(const std::string& path, int64_t rows,
                                                     const std::string& other_path) {
  WINNOW_ASSIGN_OR_RETURN(std::vector<int32_t> values, ReadInt32Column(path));
  WINNOW_RETURN_IF_ERROR(
      CheckSameRows(path, static_cast<int64_t>(values.size()), other_path, rows));
  return values;
}

client::MatrixView RowsOf(absl::Span<const int32_t> column, const RowRange& range) {
  return client::Int32Column(
      column.subspan(static_cast<size_t>(range.first), static_cast<size_t>(range.count)));
}

absl::StatusOr<Int32MatrixFile> Int32MatrixFile::Open(const std::string& path,
                                                      int64_t max_columns) {
  WINNOW_ASSIGN_OR_RETURN(NpyFile file, NpyFile::Open(path));
  WINNOW_RETURN_IF_ERROR(CheckType(file, NpyType::kInt32));
  const std::vector<int64_t>& shape = file.header().shape;
  if (shape.size() != 2) {
    return Bad(path, "one dimension; a matrix is needed, save it with .reshape(rows, -1)");
  }
  WINNOW_RETURN_IF_ERROR(CheckRowCount(path, shape[0]));
  if (shape[1] > max_columns) {
    return Bad(path, absl::StrCat(shape[1], " columns; at most ", max_columns, " are accepted"));
  }
  return Int32MatrixFile(std::move(file));
}

absl::StatusOr<std::vector<int32_t>> Int32MatrixFile::Read(int64_t first, int64_t count) const {
  std::vector<int32_t> values(static_cast<size_t>(count * columns()));
  WINNOW_RETURN_IF_ERROR(file_.Read(first * columns(), count * columns(),
                                    reinterpret_cast<std::byte*>(values.data())));
  return values;
}

absl::Status CheckSameRows(const std::string& path, int64_t rows, const std::string& other_path,
                           int64_t other_rows) {
  if (rows == other_rows) return absl::OkStatus();
  return Bad(path, absl::StrCat(CountText(rows, "row"), " for the ", other_rows, " of ",
                                ShowPath(other_path), "; both must have as many"));
}

ScoreFile::ScoreFile(NpyFile file, DType dtype, std::vector<int64_t> widths)
    : file_(std::move(file)), dtype_(dtype), widths_(std::move(widths)) {
  int64_t start = 0;
  for (int64_t width : widths_) {
    starts_.push_back(start);
    start += width;
  }
}

absl::StatusOr<ScoreFile> ScoreFile::Open(const Options& options,
                                          absl::Span<const int32_t> lengths) {
  WINNOW_ASSIGN_OR_RETURN(NpyFile file, NpyFile::Open(options.path));
  WINNOW_RETURN_IF_ERROR(CheckScoreType(file, options.dtype));
  absl::StatusOr<std::vector<int64_t>> widths =
      options.ragged
          ? RaggedWidths(file, options.lengths_path, lengths)
          : MatrixWidths(file, options.lengths_path, static_cast<int64_t>(lengths.size()));
  if (!widths.ok()) return widths.status();
  return ScoreFile(std::move(file), options.dtype, *std::move(widths));
}

int64_t ScoreFile::widest() const {
  return widths_.empty() ? 0 : *std::max_element(widths_.begin(), widths_.end());
}

absl::StatusOr<client::MatrixView> ScoreFile::Read(const RowRange& range,
                                                   std::vector<std::byte>& bytes) const {
  const int64_t item = SizeOf(dtype_);
  bytes.assign(static_cast<size_t>(range.count * range.columns * item), std::byte{0});
  for (int64_t i = 0; i < range.count; ++i) {
    const size_t row = static_cast<size_t>(range.first + i);
    WINNOW_RETURN_IF_ERROR(
        file_.Read(starts_[row], widths_[row], bytes.data() + i * range.columns * item));
  }
  return client::MatrixView{
      .dtype = dtype_, .rows = range.count, .columns = range.columns, .data = bytes.data()};
}

}  // namespace winnow::cli
