#include "client/src/tensor_encoding.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"

namespace winnow::client {
namespace {

// What is left of protobuf's 2 GiB when the fields around the data are counted generously.
constexpr int64_t kMaxTensorBytes = std::numeric_limits<int32_t>::max() - (int64_t{1} << 20);

absl::Status Overflow(absl::string_view field, const MatrixView& view) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      absl::StrCat(field, " has ", CountText(view.rows, "row"), " of stride ", view.row_stride,
                   " and ", CountText(view.columns, "column"), ", more bytes than memory can have"),
      {.reason = ErrorReason::kSizeOverflow, .field = std::string(field)});
}

// Numbers that do not fit give no bytes; the server refuses them.
StridedBytes Strided(int64_t offset_bytes, const OutputShape& shape, int64_t row_stride) {
  StridedBytes bytes{.offset = offset_bytes, .rows = shape.rows};
  const int64_t stride = row_stride == 0 ? shape.columns : row_stride;
  if (__builtin_mul_overflow(shape.columns, SizeOf(shape.dtype), &bytes.row_bytes) ||
      __builtin_mul_overflow(stride, SizeOf(shape.dtype), &bytes.stride_bytes)) {
    return {};
  }
  return bytes;
}

}  // namespace

absl::Status TensorEncoder::CheckView(absl::string_view field, const MatrixView& view,
                                      int64_t& bytes) const {
  const std::string path = absl::StrCat(prefix_, field);
  if (view.rows < 0) {
    return InvalidField(ErrorReason::kShapeOutOfRange, absl::StrCat(path, ".row_count"), view.rows,
                        "0 or more");
  }
  if (view.columns < 0) {
    return InvalidField(ErrorReason::kShapeOutOfRange, absl::StrCat(path, ".column_count"),
                        view.columns, "0 or more");
  }
  const int64_t stride = view.row_stride == 0 ? view.columns : view.row_stride;
  if (stride < view.columns) {
    return InvalidField(ErrorReason::kStrideTooSmall, absl::StrCat(path, ".row_stride"), stride,
                        absl::StrCat(view.columns, " or more, the columns"));
  }
  int64_t span_bytes = 0;
  if (__builtin_mul_overflow(view.rows, stride, &span_bytes) ||
      __builtin_mul_overflow(span_bytes, SizeOf(view.dtype), &span_bytes)) {
    return Overflow(path, view);
  }
  bytes = view.rows * view.columns * SizeOf(view.dtype);
  if (bytes > 0 && view.data == nullptr) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat(path, ".data is null but the shape is ", view.rows, " x ", view.columns),
        {.reason = ErrorReason::kFieldMissing, .field = absl::StrCat(path, ".data")});
  }
  return absl::OkStatus();
}

void TensorEncoder::Encode(absl::string_view field, const MatrixView& view, v1::Tensor* out) {
  int64_t bytes = 0;
  status_.Update(CheckView(field, view, bytes));
  if (!status_.ok()) return;
  if (bytes > kMaxTensorBytes - total_bytes_) {
    status_ = MakeError(
        absl::StatusCode::kResourceExhausted,
        absl::StrCat(prefix_, field, " brings the request to ", total_bytes_ + bytes,
                     " bytes; a message holds ", kMaxTensorBytes, ", send fewer rows at once"),
        {.reason = ErrorReason::kMessageTooLarge,
         .field = absl::StrCat(prefix_, field),
         .value = absl::StrCat(total_bytes_ + bytes),
         .limit = absl::StrCat(kMaxTensorBytes)});
    return;
  }
  total_bytes_ += bytes;
  // One pass over the caller's memory: assign and append copy without zeroing first.
  std::string& data = *out->mutable_inline_data();
  const char* source = static_cast<const char*>(view.data);
  const int64_t row_bytes = view.columns * SizeOf(view.dtype);
  const int64_t stride_bytes = view.row_stride * SizeOf(view.dtype);
  if (bytes == 0) return;
  if (view.row_stride == 0 || view.row_stride == view.columns) {
    data.assign(source, bytes);
    return;
  }
  data.reserve(bytes);
  for (int64_t row = 0; row < view.rows; ++row) data.append(source + row * stride_bytes, row_bytes);
}

void TensorEncoder::Bind(ResourceUse use, absl::string_view field, v1::ResourceId* id) {
  use.field = absl::StrCat(prefix_, field);
  if (bindings_ == nullptr) {
    status_.Update(MakeError(absl::StatusCode::kInvalidArgument,
                             absl::StrCat(use.field,
                                          " is a resource of a lease; make the call with "
                                          "the client of that lease"),
                             {.reason = ErrorReason::kFieldMissing, .field = "lease_id"}));
    return;
  }
  bindings_->Add(std::move(use), id);
}

void TensorEncoder::Encode(absl::string_view field, const BufferMatrix& buffer, v1::Tensor* out) {
  out->set_row_stride(buffer.row_stride);
  v1::BufferRange& range = *out->mutable_buffer();
  range.set_offset_bytes(buffer.offset_bytes);
  Bind({.ref = buffer.buffer,
        .bytes = Strided(buffer.offset_bytes, {buffer.dtype, buffer.rows, buffer.columns},
                         buffer.row_stride)},
       absl::StrCat(field, ".buffer"), range.mutable_buffer());
}

void TensorEncoder::Encode(absl::string_view field, const Output& output, const OutputShape& shape,
                           v1::OutputTarget* out) {
  out->set_placement(static_cast<v1::OutputPlacement>(output.placement()));
  const BufferOutput* buffer = output.buffer();
  if (buffer == nullptr) return;
  out->set_row_stride(buffer->row_stride);
  out->mutable_buffer()->set_offset_bytes(buffer->offset_bytes);
  Bind({.ref = buffer->buffer,
        .writes = true,
        .bytes = Strided(buffer->offset_bytes, shape, buffer->row_stride)},
       absl::StrCat(field, ".buffer"), out->mutable_buffer()->mutable_buffer());
}

void TensorEncoder::Encode(absl::string_view field, const TensorRef& tensor, v1::Tensor* out) {
  out->set_data_type(static_cast<v1::DataType>(tensor.dtype()));
  out->set_row_count(tensor.rows());
  out->set_column_count(tensor.columns());
  if (const StepOutput* step = tensor.step_output(); step != nullptr) {
    out->mutable_step_output()->set_step_index(step->step_index);
    out->mutable_step_output()->set_output(static_cast<v1::OutputName>(step->output));
    return;
  }
  if (const BufferMatrix* buffer = tensor.buffer(); buffer != nullptr) {
    return Encode(field, *buffer, out);
  }
  Encode(field, *tensor.view(), out);
}

void TensorEncoder::Encode(const PageTableView& pages, v1::PageTable* out) {
  Add("page_table.table", pages.table, out, &v1::PageTable::mutable_table);
  Add("page_table.row_indices", pages.row_indices, out, &v1::PageTable::mutable_row_indices);
  Add("page_table.resource", pages.resource, ResourceKind::kPageTable, out,
      &v1::PageTable::mutable_resource);
  out->set_page_size(pages.page_size);
  out->set_pool_page_count(pages.pool_pages);
}

}  // namespace winnow::client
