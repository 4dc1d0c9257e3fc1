#include "server/rpc/request_scope.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

bool IsPowerOfTwo(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

// The enums of the contract and of work.h have the same numbers.
static_assert(static_cast<int>(DType::kFloat32) == v1::DATA_TYPE_FLOAT32);
static_assert(static_cast<int>(DType::kBfloat16) == v1::DATA_TYPE_BFLOAT16);
static_assert(static_cast<int>(DType::kInt32) == v1::DATA_TYPE_INT32);
static_assert(static_cast<int>(OutputName::kIndices) == v1::OUTPUT_NAME_INDICES);
static_assert(static_cast<int>(OutputName::kSlots) == v1::OUTPUT_NAME_SLOTS);
static_assert(static_cast<int>(OutputName::kValues) == v1::OUTPUT_NAME_VALUES);
static_assert(static_cast<int>(OutputName::kKeys) == v1::OUTPUT_NAME_KEYS);
static_assert(static_cast<int>(OutputName::kBlockCounts) == v1::OUTPUT_NAME_BLOCK_COUNTS);
static_assert(static_cast<int>(OutputName::kBlocks) == v1::OUTPUT_NAME_BLOCKS);
static_assert(static_cast<int>(OutputName::kBlockSlots) == v1::OUTPUT_NAME_BLOCK_SLOTS);
static_assert(static_cast<int>(OutputName::kCandidateLengths) == v1::OUTPUT_NAME_CANDIDATE_LENGTHS);

absl::Status CheckDataType(v1::DataType sent, bool scores, DType& dtype) {
  if (sent == v1::DATA_TYPE_UNSPECIFIED) {
    return MissingField("data_type", "every tensor needs it");
  }
  if (!v1::DataType_IsValid(sent)) {
    return InvalidField(ErrorReason::kEnumUnknown, "data_type", sent, "1 to 3");
  }
  dtype = static_cast<DType>(sent);
  if (scores == (dtype != DType::kInt32)) return absl::OkStatus();
  return InvalidField(ErrorReason::kDtypeUnsupported, "data_type", sent,
                      scores ? "1 (float32) or 2 (bfloat16)" : "3 (int32)");
}

absl::Status TooLarge(absl::string_view field, absl::string_view what, int64_t bytes,
                      int64_t limit) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   absl::StrCat(field, " brings the request's ", what, " to ", bytes,
                                " bytes; this server accepts ", limit, "; send fewer rows"),
                   {.reason = ErrorReason::kMessageTooLarge,
                    .field = std::string(field),
                    .value = absl::StrCat(bytes),
                    .limit = absl::StrCat("at most ", limit)});
}

absl::Status BadReference(absl::string_view field, int64_t value, absl::string_view limit) {
  return InvalidField(ErrorReason::kStepReferenceInvalid, field, value, limit);
}

// A reference declares the type and shape that its output has.
absl::Status CheckDeclared(const v1::Tensor& tensor, const RequestScope::OutputShape& output,
                           const TensorRef& matrix) {
  const auto dtype = static_cast<int64_t>(output.dtype);
  if (tensor.data_type() != dtype) {
    return BadReference("data_type", tensor.data_type(), absl::StrCat(dtype, ", the output's"));
  }
  if (matrix.rows != output.rows) {
    return BadReference("row_count", matrix.rows, absl::StrCat(output.rows, ", the output's"));
  }
  if (matrix.columns != output.columns) {
    return BadReference("column_count", matrix.columns,
                        absl::StrCat(output.columns, ", the output's"));
  }
  if (matrix.row_stride != matrix.columns) {
    return BadReference("row_stride", matrix.row_stride,
                        absl::StrCat("0 or ", matrix.columns, "; outputs have no gaps"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MissingField(absl::string_view field, absl::string_view why) {
  return MakeError(absl::StatusCode::kInvalidArgument, absl::StrCat(field, " is missing; ", why),
                   {.reason = ErrorReason::kFieldMissing,
                    .field = std::string(field),
                    .limit = std::string(why)});
}

absl::Status WithinPart(absl::string_view prefix, const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (info.has_value() && info->field == "lease_id") return status;
  return WithFieldPrefix(prefix, status);
}

absl::Status FieldInRange(ErrorReason reason, absl::string_view field, int64_t value, int64_t low,
                          int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return InvalidField(reason, field, value, absl::StrCat(low, " to ", high));
}

absl::Status CheckStrideRoom(int64_t row_stride, int64_t rows, DType dtype) {
  // Below half of what 63 bits hold, so that the last row's end cannot wrap either.
  const int64_t room =
      (std::numeric_limits<int64_t>::max() / 2) / SizeOf(dtype) / std::max<int64_t>(1, rows);
  if (row_stride <= room) return absl::OkStatus();
  return InvalidField(ErrorReason::kSizeOverflow, "row_stride", row_stride,
                      absl::StrCat("at most ", room, " for ", CountText(rows, "row")));
}

absl::Status DecodeOrder(v1::SelectionOrder order, Order& decoded) {
  switch (order) {
    case v1::SELECTION_ORDER_UNSPECIFIED:
    case v1::SELECTION_ORDER_ANY:
      decoded = Order::kAny;
      return absl::OkStatus();
    case v1::SELECTION_ORDER_POSITION:
      decoded = Order::kPosition;
      return absl::OkStatus();
    case v1::SELECTION_ORDER_SCORE:
      decoded = Order::kScore;
      return absl::OkStatus();
    default:
      return InvalidField(ErrorReason::kEnumUnknown, "order", order, "0 to 3");
  }
}

absl::Status DecodeBlockSize(int32_t sent, int32_t& block_size) {
  block_size = sent == 0 ? kDefaultBlockSize : sent;
  if (IsPowerOfTwo(block_size) && block_size >= kMinBlockSize && block_size <= kMaxBlockSize) {
    return absl::OkStatus();
  }
  return InvalidField(ErrorReason::kBlockSizeInvalid, "block_size", sent,
                      absl::StrCat("a power of two from ", kMinBlockSize, " to ", kMaxBlockSize));
}

absl::Status DecodeK(absl::string_view field, int32_t sent, int32_t fallback, int32_t& k) {
  k = sent == 0 ? fallback : sent;
  return FieldInRange(ErrorReason::kKOutOfRange, field, k, 1, kMaxK);
}

int32_t MaxLength(const TensorRef& lengths) {
  if (lengths.source != TensorRef::Source::kHost) return 0;
  int32_t longest = 0;
  for (int64_t row = 0; row < lengths.rows; ++row) {
    int32_t length;
    std::memcpy(&length, lengths.data + row * sizeof(length), sizeof(length));
    longest = std::max(longest, length);
  }
  return longest;
}

absl::Status RequestScope::Shape(const v1::Tensor& tensor, const MatrixRule& rule,
                                 TensorRef& matrix) const {
  WINNOW_RETURN_IF_ERROR(CheckDataType(tensor.data_type(), rule.scores, matrix.dtype));
  matrix.rows = tensor.row_count();
  matrix.columns = tensor.column_count();
  matrix.row_stride = tensor.row_stride() == 0 ? matrix.columns : tensor.row_stride();
  WINNOW_RETURN_IF_ERROR(
      FieldInRange(ErrorReason::kShapeOutOfRange, "row_count", matrix.rows, 0, rule.max_rows));
  WINNOW_RETURN_IF_ERROR(FieldInRange(ErrorReason::kShapeOutOfRange, "column_count", matrix.columns,
                                      rule.min_columns, rule.max_columns));
  if (matrix.row_stride < matrix.columns) {
    return InvalidField(ErrorReason::kStrideTooSmall, "row_stride", matrix.row_stride,
                        absl::StrCat("0, or at least ", matrix.columns, ", the columns"));
  }
  return CheckStrideRoom(matrix.row_stride, matrix.rows, matrix.dtype);
}

absl::Status RequestScope::Inline(const v1::Tensor& tensor, TensorRef& matrix) {
  const auto sent = static_cast<int64_t>(tensor.inline_data().size());
  const int64_t whole = matrix.rows * matrix.row_stride * SizeOf(matrix.dtype);
  const int64_t least =
      matrix.rows == 0
          ? 0
          : ((matrix.rows - 1) * matrix.row_stride + matrix.columns) * SizeOf(matrix.dtype);
  if (sent != whole && sent != least) {
    return InvalidField(
        ErrorReason::kDataSizeMismatch, "inline_data", sent,
        least == whole
            ? absl::StrCat(CountText(whole, "byte"), " for the declared shape")
            : absl::StrCat(least, " or ", CountText(whole, "byte"), " for the declared shape"));
  }
  input_bytes_ += sent;
  if (input_bytes_ > limits_.max_inline_bytes) {
    return TooLarge("inline_data", "inline inputs", input_bytes_, limits_.max_inline_bytes);
  }
  matrix.source = TensorRef::Source::kHost;
  matrix.data = reinterpret_cast<const std::byte*>(tensor.inline_data().data());
  return absl::OkStatus();
}

absl::Status RequestScope::Reference(const v1::Tensor& tensor, TensorRef& matrix) const {
  const v1::StepOutput& reference = tensor.step_output();
  if (kind_ != RequestKind::kSteps) {
    return BadReference("step_output.step_index", reference.step_index(),
                        "inline_data here; earlier steps exist in Execute alone");
  }
  const auto step_count = static_cast<int64_t>(ended_steps_.size());
  if (reference.step_index() < 0 || reference.step_index() >= step_count) {
    return BadReference(
        "step_output.step_index", reference.step_index(),
        step_count == 0 ? "no reference in the first step" : absl::StrCat("0 to ", step_count - 1));
  }
  if (reference.output() == v1::OUTPUT_NAME_UNSPECIFIED) {
    return MissingField("step_output.output", "a reference needs it");
  }
  if (!v1::OutputName_IsValid(reference.output())) {
    return InvalidField(ErrorReason::kEnumUnknown, "step_output.output", reference.output(),
                        "1 to 8");
  }
  const auto name = static_cast<OutputName>(reference.output());
  const auto& outputs = ended_steps_[reference.step_index()];
  const auto found = std::find_if(outputs.begin(), outputs.end(),
                                  [name](const OutputShape& shape) { return shape.name == name; });
  if (found == outputs.end()) {
    return BadReference("step_output.output", reference.output(),
                        absl::StrCat("outputs that step ", reference.step_index(), " places"));
  }
  WINNOW_RETURN_IF_ERROR(CheckDeclared(tensor, *found, matrix));
  matrix.source = TensorRef::Source::kStep;
  matrix.step = reference.step_index();
  matrix.output = name;
  return absl::OkStatus();
}

absl::Status RequestScope::Matrix(absl::string_view field, const v1::Tensor* tensor,
                                  const MatrixRule& rule, TensorRef& matrix) {
  if (tensor == nullptr) return MissingField(field, "the operation needs it");
  absl::Status status = Shape(*tensor, rule, matrix);
  if (status.ok()) {
    switch (tensor->source_case()) {
      case v1::Tensor::kInlineData:
        status = Inline(*tensor, matrix);
        break;
      case v1::Tensor::kStepOutput:
        status = Reference(*tensor, matrix);
        break;
      case v1::Tensor::kBuffer:
        status = Stored(tensor->buffer(), matrix);
        break;
      case v1::Tensor::SOURCE_NOT_SET:
        status = MissingField("inline_data", "a tensor needs its elements or a reference to them");
        break;
    }
  }
  if (status.ok()) return status;
  return WithinPart(absl::StrCat(field, "."), status);
}

absl::Status RequestScope::Vector(absl::string_view field, const v1::Tensor* tensor, int64_t rows,
                                  TensorRef& vector) {
  if (tensor == nullptr) return absl::OkStatus();
  WINNOW_RETURN_IF_ERROR(
      Matrix(field, tensor, {.scores = false, .min_columns = 1, .max_columns = 1}, vector));
  if (vector.rows != rows) {
    return InvalidField(ErrorReason::kShapeMismatch, absl::StrCat(field, ".row_count"), vector.rows,
                        absl::StrCat(rows, ", one for each row"));
  }
  if (vector.row_stride != 1) {
    return InvalidField(ErrorReason::kValueOutOfRange, absl::StrCat(field, ".row_stride"),
                        vector.row_stride, "0 or 1 for a vector");
  }
  return absl::OkStatus();
}

absl::Status RequestScope::RequiredVector(absl::string_view field, const v1::Tensor* tensor,
                                          int64_t rows, TensorRef& vector) {
  if (tensor == nullptr) return MissingField(field, "the operation needs it");
  return Vector(field, tensor, rows, vector);
}

absl::Status RequestScope::PageFields(const v1::PageTable& pages, int64_t rows,
                                      PageTableRef& decoded) {
  if (pages.has_resource()) return StoredPages(pages, rows, decoded);
  if (!IsPowerOfTwo(pages.page_size()) || pages.page_size() > kMaxPageSize) {
    return InvalidField(ErrorReason::kPageSizeInvalid, "page_size", pages.page_size(),
                        absl::StrCat("a power of two from 1 to ", kMaxPageSize));
  }
  WINNOW_RETURN_IF_ERROR(FieldInRange(ErrorReason::kValueOutOfRange, "pool_page_count",
                                      pages.pool_page_count(), 0, kInt32Max));
  WINNOW_RETURN_IF_ERROR(Matrix("table", WINNOW_OPTIONAL_FIELD(pages, table),
                                {.scores = false, .max_rows = kInt32Max}, decoded.table));
  WINNOW_RETURN_IF_ERROR(
      Vector("row_indices", WINNOW_OPTIONAL_FIELD(pages, row_indices), rows, decoded.rows));
  if (!decoded.rows.present() && decoded.table.rows < rows) {
    return InvalidField(ErrorReason::kShapeMismatch, "table.row_count", decoded.table.rows,
                        absl::StrCat("at least ", rows, ", the rows, without row_indices"));
  }
  decoded.page_size = pages.page_size();
  decoded.pool_pages = pages.pool_page_count();
  return absl::OkStatus();
}

absl::Status RequestScope::Pages(const v1::PageTable* pages, int64_t rows,
                                 absl::string_view needed_by, PageTableRef& decoded) {
  if (pages == nullptr) {
    if (needed_by.empty()) return absl::OkStatus();
    return MissingField("page_table", absl::StrCat(needed_by, " needs it"));
  }
  if (needed_by.empty()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "page_table is set but no slots are wanted; want them or leave it out",
                     {.reason = ErrorReason::kFieldsConflict,
                      .field = "page_table",
                      .limit = "no page table without slots"});
  }
  const absl::Status status = PageFields(*pages, rows, decoded);
  return status.ok() ? status : WithinPart("page_table.", status);
}

absl::Status RequestScope::Output(absl::string_view field, const v1::OutputTarget* target,
                                  const OutputShape& shape, OutputRef& output) {
  if (target == nullptr) return absl::OkStatus();
  switch (target->placement()) {
    case v1::OUTPUT_PLACEMENT_UNSPECIFIED:
      return absl::OkStatus();
    case v1::OUTPUT_PLACEMENT_INLINE:
      output.placement = OutputRef::Placement::kInline;
      break;
    case v1::OUTPUT_PLACEMENT_KEEP:
      if (kind_ == RequestKind::kUnary) {
        return InvalidField(ErrorReason::kFieldsConflict, absl::StrCat(field, ".placement"),
                            target->placement(), "1 (inline) here; only Execute keeps outputs");
      }
      output.placement = OutputRef::Placement::kKeep;
      break;
    case v1::OUTPUT_PLACEMENT_BUFFER: {
      const absl::Status status = StoredOutput(*target, shape, output);
      if (!status.ok()) return WithinPart(absl::StrCat(field, "."), status);
      current_step_.push_back(shape);
      return status;
    }
    default:
      return InvalidField(ErrorReason::kEnumUnknown, absl::StrCat(field, ".placement"),
                          target->placement(), "0 to 3");
  }
  if (target->has_buffer() || target->row_stride() != 0) {
    const std::string extra = absl::StrCat(field, target->has_buffer() ? ".buffer" : ".row_stride");
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat(extra, " is set but placement is not BUFFER; leave it out"),
                     {.reason = ErrorReason::kFieldsConflict, .field = extra});
  }
  // At most 65,536 rows of 2^21 columns: the product fits by far.
  output_bytes_ += shape.rows * shape.columns * SizeOf(shape.dtype);
  if (output_bytes_ > limits_.max_inline_bytes) {
    return TooLarge(field, "outputs", output_bytes_, limits_.max_inline_bytes);
  }
  current_step_.push_back(shape);
  return absl::OkStatus();
}

void RequestScope::EndStep() {
  ended_steps_.push_back(std::move(current_step_));
  current_step_.clear();
}

}  // namespace winnow::server
