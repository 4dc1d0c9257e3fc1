// Inputs and outputs one by one; check_overlap.cc looks at them together.

#include "server/backend/check_tensor.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/backend/work_shape.h"
#include "server/base/checked_math.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// As in the kernels' own checks: no pointer arithmetic on a matrix may wrap.
constexpr int64_t kMaxMatrixBytes = int64_t{1} << 62;
constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr DType kInt32Only[] = {DType::kInt32};

absl::Status CheckDtype(const TensorRule& rule, const TensorRef& tensor) {
  if (std::find(rule.dtypes.begin(), rule.dtypes.end(), tensor.dtype) != rule.dtypes.end()) {
    return absl::OkStatus();
  }
  std::string accepted;
  for (const DType dtype : rule.dtypes) {
    absl::StrAppend(&accepted, accepted.empty() ? "" : " or ", Name(dtype));
  }
  const std::string field = absl::StrCat(rule.field, ".data_type");
  const absl::string_view value = Name(tensor.dtype);
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat(field, " is ", value, "; this input accepts ", accepted),
                   {.reason = ErrorReason::kDtypeUnsupported,
                    .field = field,
                    .value = std::string(value),
                    .limit = accepted});
}

// A part of a tensor; its path is put together only for an error, as every request comes by here.
absl::Status CheckShape(absl::string_view field, absl::string_view part, int64_t value,
                        int64_t high) {
  if (value >= 0 && value <= high) return absl::OkStatus();
  return CheckRange(ErrorReason::kShapeOutOfRange, absl::StrCat(field, part), value, 0, high);
}

absl::Status CheckExtent(absl::string_view field, int64_t rows, int64_t columns, int64_t row_stride,
                         DType dtype) {
  if (row_stride < columns) {
    return InvalidField(ErrorReason::kStrideTooSmall, absl::StrCat(field, ".row_stride"),
                        row_stride, absl::StrCat("at least ", columns, ", its columns"));
  }
  const auto elements = CheckedExtent(rows, columns, row_stride);
  if (elements.has_value() && *elements <= kMaxMatrixBytes / SizeOf(dtype)) {
    return absl::OkStatus();
  }
  const int64_t room = (kMaxMatrixBytes / SizeOf(dtype) - columns) / std::max<int64_t>(1, rows - 1);
  return InvalidField(ErrorReason::kSizeOverflow, absl::StrCat(field, ".row_stride"), row_stride,
                      absl::StrCat("at most ", room, " for ", CountText(rows, "row")));
}

absl::Status CheckAligned(absl::string_view field, const std::byte* data, DType dtype) {
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % SizeOf(dtype));
  if (past == 0) return absl::OkStatus();
  const std::string limit = absl::StrCat("a multiple of ", SizeOf(dtype));
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat(field, " starts ", CountText(past, "byte"), " past ", limit,
                                "; align its offset to its element"),
                   {.reason = ErrorReason::kAlignmentInvalid,
                    .field = std::string(field),
                    .value = absl::StrCat(past),
                    .limit = limit});
}

absl::Status BadReference(absl::string_view field, absl::string_view part, int64_t value,
                          std::string limit) {
  return InvalidField(ErrorReason::kStepReferenceInvalid, absl::StrCat(field, ".step_output", part),
                      value, limit);
}

absl::Status CheckReference(absl::string_view field, const TensorRef& tensor,
                            absl::Span<const Step> earlier_steps) {
  const auto count = static_cast<int64_t>(earlier_steps.size());
  if (tensor.step < 0 || tensor.step >= count) {
    return BadReference(field, ".step_index", tensor.step,
                        count == 0 ? "no reference in the first step"
                                   : absl::StrCat("0 to ", count - 1, ", the steps before"));
  }
  const Step& source = earlier_steps[tensor.step];
  const OutputRef* output = FindOutput(source, tensor.output);
  if (output == nullptr || !output->wanted()) {
    return BadReference(field, ".output", static_cast<int32_t>(tensor.output),
                        absl::StrCat("an output that step ", tensor.step, " places"));
  }
  const OutputShape shape = ShapeOf(source, tensor.output);
  if (shape.dtype == tensor.dtype && shape.rows == tensor.rows && shape.columns == tensor.columns) {
    return absl::OkStatus();
  }
  const std::string made =
      absl::StrCat(Name(shape.dtype), " [", shape.rows, ", ", shape.columns, "]");
  const std::string declared =
      absl::StrCat(Name(tensor.dtype), " [", tensor.rows, ", ", tensor.columns, "]");
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      absl::StrCat(field, " is declared as ", declared, " but step ", tensor.step, " makes ", made),
      {.reason = ErrorReason::kStepReferenceInvalid,
       .field = std::string(field),
       .value = declared,
       .limit = made});
}

}  // namespace

absl::Status FieldMissing(absl::string_view field, absl::string_view why) {
  return MakeError(absl::StatusCode::kInvalidArgument, absl::StrCat(field, " is missing; ", why),
                   {.reason = ErrorReason::kFieldMissing,
                    .field = std::string(field),
                    .limit = std::string(why)});
}

absl::Status CheckRange(ErrorReason reason, absl::string_view field, int64_t value, int64_t low,
                        int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return InvalidField(reason, field, value, absl::StrCat(low, " to ", high));
}

absl::Status CheckTensor(const TensorRule& rule, const TensorRef& tensor,
                         absl::Span<const Step> earlier_steps) {
  if (!tensor.present()) return FieldMissing(rule.field, "the operation needs it");
  WINNOW_RETURN_IF_ERROR(CheckDtype(rule, tensor));
  WINNOW_RETURN_IF_ERROR(CheckShape(rule.field, ".row_count", tensor.rows, rule.max_rows));
  WINNOW_RETURN_IF_ERROR(CheckShape(rule.field, ".column_count", tensor.columns, rule.max_columns));
  if (tensor.source == TensorRef::Source::kStep) {
    return CheckReference(rule.field, tensor, earlier_steps);
  }
  WINNOW_RETURN_IF_ERROR(CheckExtent(rule.field, tensor.rows, tensor.columns,
                                     DeclaredRowStride(tensor), tensor.dtype));
  if (tensor.rows == 0 || tensor.columns == 0) return absl::OkStatus();
  if (tensor.data == nullptr) return FieldMissing(rule.field, "it has no data");
  // Host memory of any alignment is copied; device memory is used where it lies.
  if (tensor.source == TensorRef::Source::kHost) return absl::OkStatus();
  return CheckAligned(rule.field, tensor.data, tensor.dtype);
}

absl::Status CheckVector(absl::string_view field, const TensorRef& tensor, int64_t rows,
                         bool required, absl::Span<const Step> earlier_steps) {
  if (!tensor.present() && !required) return absl::OkStatus();
  const TensorRule rule{
      .field = field, .dtypes = kInt32Only, .max_rows = kMaxRows, .max_columns = kMaxColumns};
  WINNOW_RETURN_IF_ERROR(CheckTensor(rule, tensor, earlier_steps));
  if (tensor.rows != rows) {
    return InvalidField(ErrorReason::kShapeMismatch, absl::StrCat(field, ".row_count"), tensor.rows,
                        absl::StrCat(rows, ", the rows of the step"));
  }
  if (tensor.columns != 1) {
    return InvalidField(ErrorReason::kShapeMismatch, absl::StrCat(field, ".column_count"),
                        tensor.columns, "1: one entry a row");
  }
  return absl::OkStatus();
}

absl::Status CheckPageTable(const PageTableRef& pages, int64_t rows, absl::string_view needed_by,
                            absl::Span<const Step> earlier_steps) {
  if (!pages.table.present()) {
    if (!needed_by.empty()) {
      return FieldMissing("page_table", absl::StrCat(needed_by, " needs it"));
    }
    if (!pages.rows.present()) return absl::OkStatus();
    return FieldMissing("page_table.table", "page_table.row_indices needs it");
  }
  if (pages.page_size <= 0 || (pages.page_size & (pages.page_size - 1)) != 0 ||
      pages.page_size > kMaxPageSize) {
    return InvalidField(ErrorReason::kPageSizeInvalid, "page_table.page_size", pages.page_size,
                        absl::StrCat("a power of two from 1 to ", kMaxPageSize));
  }
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kValueOutOfRange, "page_table.pool_page_count",
                                    pages.pool_pages, 0, kInt32Max));
  const TensorRule rule{.field = "page_table.table",
                        .dtypes = kInt32Only,
                        .max_rows = kInt32Max,
                        .max_columns = kMaxColumns};
  WINNOW_RETURN_IF_ERROR(CheckTensor(rule, pages.table, earlier_steps));
  WINNOW_RETURN_IF_ERROR(
      CheckVector("page_table.row_indices", pages.rows, rows, false, earlier_steps));
  if (rows == 0) return absl::OkStatus();
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kShapeOutOfRange, "page_table.table.column_count",
                                    pages.table.columns, 1, kMaxColumns));
  if (pages.rows.present()) {
    return CheckRange(ErrorReason::kShapeOutOfRange, "page_table.table.row_count", pages.table.rows,
                      1, kInt32Max);
  }
  if (pages.table.rows >= rows) return absl::OkStatus();
  return InvalidField(
      ErrorReason::kShapeMismatch, "page_table.table.row_count", pages.table.rows,
      absl::StrCat("at least ", rows, ", the rows of the step, without page_table.row_indices"));
}

absl::Status CheckPagesHoldBlocks(const PageTableRef& pages, int32_t block_size) {
  if (pages.page_size >= block_size) return absl::OkStatus();
  return InvalidField(ErrorReason::kPageSizeInvalid, "page_table.page_size", pages.page_size,
                      absl::StrCat("at least ", block_size, ", the block size, for block slots"));
}

absl::Status CheckOutputs(const Step& step) {
  absl::Status status;
  bool any_wanted = false;
  absl::string_view first_field;
  ForEachOutput(step, [&](OutputName name, const OutputRef& output) {
    if (first_field.empty()) first_field = FieldOf(step, name);
    if (!output.wanted() || !status.ok()) return;
    any_wanted = true;
    const bool in_memory = output.placement == OutputRef::Placement::kHost ||
                           output.placement == OutputRef::Placement::kDevice;
    if (!in_memory) return;
    const OutputShape shape = ShapeOf(step, name);
    const absl::string_view field = FieldOf(step, name);
    status = CheckExtent(field, shape.rows, shape.columns, DeclaredRowStride(output, shape),
                         shape.dtype);
    if (!status.ok() || shape.rows == 0) return;
    status = output.data == nullptr ? FieldMissing(field, "it has no place to go to")
                                    : CheckAligned(field, output.data, shape.dtype);
  });
  WINNOW_RETURN_IF_ERROR(status);
  return any_wanted ? absl::OkStatus()
                    : FieldMissing(first_field, "at least one output must be wanted");
}

}  // namespace winnow::server
