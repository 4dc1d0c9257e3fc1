#include "kernels/field_checks.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::internal {
namespace {

// The addresses that a process may hold; a matrix must lie below it so that no kernel's pointer
// arithmetic wraps.
constexpr int64_t kMaxMatrixBytes = int64_t{1} << 62;

bool IsPowerOfTwo(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

absl::Status Misaligned(absl::string_view field, const void* pointer, int64_t alignment) {
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(pointer) % alignment);
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat(field, " starts ", CountText(past, "byte"), " past a multiple of ",
                                alignment, "; align it to its element"),
                   {.reason = ErrorReason::kAlignmentInvalid,
                    .field = std::string(field),
                    .value = absl::StrCat(past),
                    .limit = absl::StrCat("a multiple of ", alignment)});
}

}  // namespace

absl::Status MissingField(absl::string_view field, absl::string_view why) {
  return MakeError(absl::StatusCode::kInvalidArgument, absl::StrCat(field, " is missing; ", why),
                   {.reason = ErrorReason::kFieldMissing,
                    .field = std::string(field),
                    .value = "",
                    .limit = std::string(why)});
}

absl::Status CheckRange(ErrorReason reason, absl::string_view field, int64_t value, int64_t low,
                        int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return InvalidField(reason, field, value, absl::StrCat(low, " to ", high));
}

absl::Status CheckPointer(absl::string_view field, const void* pointer, int64_t alignment,
                          bool required) {
  if (pointer == nullptr) {
    return required ? MissingField(field, "every request needs it") : absl::OkStatus();
  }
  if (reinterpret_cast<uintptr_t>(pointer) % alignment != 0) {
    return Misaligned(field, pointer, alignment);
  }
  return absl::OkStatus();
}

absl::Status CheckMatrix(const MatrixField& matrix) {
  WINNOW_RETURN_IF_ERROR(CheckPointer(matrix.name, matrix.base, matrix.element_bytes, true));
  if (matrix.row_stride < matrix.columns) {
    return InvalidField(
        ErrorReason::kStrideTooSmall, matrix.stride_name, matrix.row_stride,
        absl::StrCat("at least ", matrix.columns, ", the columns of ", matrix.name));
  }
  // Rows are at least 1 and columns at most 2^21 here, so only the stride can overflow.
  const int64_t room = (kMaxMatrixBytes / matrix.element_bytes - matrix.columns) /
                       std::max<int64_t>(1, matrix.rows - 1);
  const auto address = reinterpret_cast<uintptr_t>(matrix.base);
  if (matrix.row_stride <= room) {
    const auto bytes = static_cast<uintptr_t>(
        ((matrix.rows - 1) * matrix.row_stride + matrix.columns) * matrix.element_bytes);
    if (bytes <= std::numeric_limits<uintptr_t>::max() - address) return absl::OkStatus();
  }
  return InvalidField(ErrorReason::kSizeOverflow, matrix.stride_name, matrix.row_stride,
                      absl::StrCat("at most ", room, " for ", CountText(matrix.rows, "row")));
}

absl::Status CheckScoreDtype(DType dtype) {
  if (dtype == DType::kFloat32 || dtype == DType::kBfloat16) return absl::OkStatus();
  return InvalidField(ErrorReason::kDtypeUnsupported, "dtype", static_cast<int32_t>(dtype),
                      "1 (float32) or 2 (bfloat16)");
}

absl::Status CheckOrder(Order order) {
  return CheckRange(ErrorReason::kEnumUnknown, "order", static_cast<int32_t>(order), 0, 2);
}

absl::Status CheckBlockSize(int32_t block_size) {
  if (IsPowerOfTwo(block_size) && block_size >= kMinBlockSize && block_size <= kMaxBlockSize) {
    return absl::OkStatus();
  }
  return InvalidField(ErrorReason::kBlockSizeInvalid, "block_size", block_size,
                      absl::StrCat("a power of two from ", kMinBlockSize, " to ", kMaxBlockSize));
}

absl::Status CheckSegmentCount(size_t count) {
  return CheckRange(ErrorReason::kShapeOutOfRange, "segments", static_cast<int64_t>(count), 1,
                    kMaxSegments);
}

absl::Status CheckPages(const PageTransform& pages, int64_t rows, absl::string_view needed_by) {
  if (pages.page_table == nullptr) {
    if (needed_by.empty()) return absl::OkStatus();
    return MissingField("pages.page_table", absl::StrCat(needed_by, " needs it"));
  }
  if (!IsPowerOfTwo(pages.page_size) || pages.page_size > kMaxPageSize) {
    return InvalidField(ErrorReason::kPageSizeInvalid, "pages.page_size", pages.page_size,
                        absl::StrCat("a power of two from 1 to ", kMaxPageSize));
  }
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kShapeOutOfRange, "pages.table_rows",
                                    pages.table_rows, 1, std::numeric_limits<int32_t>::max()));
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kShapeOutOfRange, "pages.table_columns",
                                    pages.table_columns, 1, kMaxColumns));
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kValueOutOfRange, "pages.pool_pages",
                                    pages.pool_pages, 0, std::numeric_limits<int32_t>::max()));
  WINNOW_RETURN_IF_ERROR(CheckPointer("pages.page_table_rows", pages.page_table_rows, 4, false));
  if (pages.page_table_rows == nullptr && pages.table_rows < rows) {
    return InvalidField(
        ErrorReason::kShapeMismatch, "pages.table_rows", pages.table_rows,
        absl::StrCat("at least ", rows, ", the rows of scores, without page_table_rows"));
  }
  return CheckMatrix({.name = "pages.page_table",
                      .stride_name = "pages.row_stride",
                      .base = pages.page_table,
                      .rows = pages.table_rows,
                      .columns = pages.table_columns,
                      .row_stride = pages.row_stride,
                      .element_bytes = 4});
}

absl::Status CheckPagesHoldBlocks(const PageTransform& pages, int32_t block_size) {
  if (pages.page_size >= block_size) return absl::OkStatus();
  return InvalidField(ErrorReason::kPageSizeInvalid, "pages.page_size", pages.page_size,
                      absl::StrCat("at least ", block_size, ", the block size, for block slots"));
}

}  // namespace winnow::internal
