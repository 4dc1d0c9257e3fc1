// The part of RequestScope that knows resources of a lease: buffers as inputs and outputs, page
// tables, plans.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/backend/strided_region.h"
#include "server/rpc/request_scope.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// Elements from the first to the last, the gap after the last row left out. The caller bounded the
// product.
int64_t ExtentBytes(int64_t rows, int64_t columns, int64_t row_stride, DType dtype) {
  if (rows == 0 || columns == 0) return 0;
  return ((rows - 1) * row_stride + columns) * SizeOf(dtype);
}

absl::Status CheckRange(const v1::BufferRange& range, const Buffer& buffer, int64_t extent_bytes,
                        DType dtype) {
  const int64_t offset = range.offset_bytes();
  if (offset % SizeOf(dtype) != 0) {
    return InvalidField(ErrorReason::kAlignmentInvalid, "offset_bytes", offset,
                        absl::StrCat("multiples of ", SizeOf(dtype), ", the element's size"));
  }
  if (offset >= 0 && offset <= buffer.size_bytes() &&
      extent_bytes <= buffer.size_bytes() - offset) {
    return absl::OkStatus();
  }
  return InvalidField(ErrorReason::kRangeOutOfBounds, "offset_bytes", offset,
                      absl::StrCat("offsets from which ", extent_bytes,
                                   " bytes end within the buffer's ", buffer.size_bytes()));
}

}  // namespace

absl::StatusOr<RequestResources*> RequestScope::Resources() const {
  if (resources_ != nullptr) return resources_;
  return MissingField("lease_id", "resources belong to a lease");
}

absl::Status RequestScope::Stored(const v1::BufferRange& range, TensorRef& matrix) {
  if (kind_ == RequestKind::kInline) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        "buffer is set, but this request takes inline_data alone",
        {.reason = ErrorReason::kFieldsConflict, .field = "buffer", .limit = "inline_data alone"});
  }
  WINNOW_ASSIGN_OR_RETURN(RequestResources * resources, Resources());
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> buffer,
                          resources->FindBuffer("buffer.buffer", range.buffer()));
  const absl::Status fits = CheckRange(
      range, *buffer, ExtentBytes(matrix.rows, matrix.columns, matrix.row_stride, matrix.dtype),
      matrix.dtype);
  if (!fits.ok()) return WithinPart("buffer.", fits);
  matrix.source = TensorRef::Source::kDevice;
  matrix.data = buffer->data() + range.offset_bytes();
  return absl::OkStatus();
}

absl::Status RequestScope::StoredOutput(const v1::OutputTarget& target, const OutputShape& shape,
                                        OutputRef& output) {
  if (!target.has_buffer()) return MissingField("buffer", "placement BUFFER writes there");
  output.row_stride = target.row_stride() == 0 ? shape.columns : target.row_stride();
  if (output.row_stride < shape.columns) {
    return InvalidField(ErrorReason::kStrideTooSmall, "row_stride", output.row_stride,
                        absl::StrCat("0, or at least ", shape.columns, ", the output's columns"));
  }
  WINNOW_RETURN_IF_ERROR(CheckStrideRoom(output.row_stride, shape.rows, shape.dtype));
  WINNOW_ASSIGN_OR_RETURN(RequestResources * resources, Resources());
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<Buffer> buffer,
                          resources->FindBuffer("buffer.buffer", target.buffer().buffer()));
  if (buffer->read_only()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "buffer.buffer was imported read-only and cannot be an output",
                     {.reason = ErrorReason::kFieldsConflict, .field = "buffer.buffer"});
  }
  const absl::Status fits = CheckRange(
      target.buffer(), *buffer,
      ExtentBytes(shape.rows, shape.columns, output.row_stride, shape.dtype), shape.dtype);
  if (!fits.ok()) return WithinPart("buffer.", fits);
  output.placement = OutputRef::Placement::kDevice;
  output.data = buffer->data() + target.buffer().offset_bytes();
  const int64_t stride = shape.rows > 1 ? output.row_stride : shape.columns;
  WINNOW_RETURN_IF_ERROR(resources->ClaimWrite(
      "buffer", *buffer,
      MakeStridedRegion(output.data, shape.rows, shape.columns, stride, shape.dtype)));
  return absl::OkStatus();
}

absl::Status RequestScope::StoredPages(const v1::PageTable& pages, int64_t rows,
                                       PageTableRef& decoded) {
  if (pages.has_table() || pages.page_size() != 0 || pages.pool_page_count() != 0) {
    const absl::string_view field = pages.has_table()        ? "table"
                                    : pages.page_size() != 0 ? "page_size"
                                                             : "pool_page_count";
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat(field, " is set beside resource, which has its own"),
                     {.reason = ErrorReason::kFieldsConflict, .field = std::string(field)});
  }
  WINNOW_ASSIGN_OR_RETURN(RequestResources * resources, Resources());
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<PageTable> table,
                          resources->FindPageTable("resource", pages.resource()));
  WINNOW_RETURN_IF_ERROR(
      Vector("row_indices", WINNOW_OPTIONAL_FIELD(pages, row_indices), rows, decoded.rows));
  const PageTableShape& shape = table->shape();
  if (!decoded.rows.present() && shape.rows < rows) {
    return InvalidField(
        ErrorReason::kShapeMismatch, "resource", shape.rows,
        absl::StrCat("tables of at least ", CountText(rows, "row"), ", without row_indices"));
  }
  const std::shared_ptr<const PageTableImage> image = table->Current();
  decoded.table = {.source = TensorRef::Source::kDevice,
                   .dtype = DType::kInt32,
                   .rows = shape.rows,
                   .columns = shape.columns,
                   .row_stride = shape.columns,
                   .data = image->memory->data()};
  decoded.page_size = shape.page_size;
  decoded.pool_pages = shape.pool_pages;
  decoded.is_resource = true;
  resources->Hold(image);
  return absl::OkStatus();
}

absl::Status RequestScope::PlanOf(const v1::TopKStep& step, TopKStep& decoded) {
  if (!step.has_plan()) return absl::OkStatus();
  if (step.has_static_threshold()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "plan and static_threshold are both set; a plan has its threshold",
                     {.reason = ErrorReason::kFieldsConflict, .field = "static_threshold"});
  }
  WINNOW_ASSIGN_OR_RETURN(RequestResources * resources, Resources());
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<Plan> plan,
                          resources->FindPlan("plan", step.plan()));
  decoded.plan = plan->data();
  return absl::OkStatus();
}

}  // namespace winnow::server
