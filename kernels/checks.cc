// Host-side checks of TopK and PlanTopK. The indexer's other operations are in checks_blocks.cc,
// the checks of single fields in field_checks.h.

#include <limits>

#include "kernels/field_checks.h"
#include "winnow/kernels/operations.h"
#include "winnow/kernels/status_macros.h"

namespace winnow {
namespace {

using internal::CheckMatrix;
using internal::CheckPointer;
using internal::CheckRange;

absl::Status CheckTopKOutputs(const TopKParams& params, const TopKSegment& segment) {
  const int64_t rows = segment.rows;
  if (segment.indices == nullptr && segment.slots == nullptr && segment.values == nullptr) {
    return internal::MissingField("indices", "at least one of indices, slots and values is needed");
  }
  if (segment.indices != nullptr) {
    WINNOW_RETURN_IF_ERROR(CheckMatrix({"indices", "indices_row_stride", segment.indices, rows,
                                        params.k, segment.indices_row_stride, 4}));
  }
  if (segment.slots != nullptr) {
    WINNOW_RETURN_IF_ERROR(CheckMatrix(
        {"slots", "slots_row_stride", segment.slots, rows, params.k, segment.slots_row_stride, 4}));
  }
  if (segment.values != nullptr) {
    WINNOW_RETURN_IF_ERROR(
        CheckMatrix({"values", "values_row_stride", segment.values, rows, params.k,
                     segment.values_row_stride, SizeOf(params.dtype)}));
  }
  return absl::OkStatus();
}

absl::Status CheckTopKSegment(const TopKParams& params, const TopKSegment& segment) {
  WINNOW_RETURN_IF_ERROR(
      CheckRange(ErrorReason::kShapeOutOfRange, "rows", segment.rows, 1, kMaxRows));
  WINNOW_RETURN_IF_ERROR(
      CheckRange(ErrorReason::kShapeOutOfRange, "columns", segment.columns, 1, kMaxColumns));
  WINNOW_RETURN_IF_ERROR(CheckMatrix({"scores", "row_stride", segment.scores, segment.rows,
                                      segment.columns, segment.row_stride, SizeOf(params.dtype)}));
  WINNOW_RETURN_IF_ERROR(CheckPointer("lengths", segment.lengths, 4, true));
  WINNOW_RETURN_IF_ERROR(CheckPointer("row_starts", segment.row_starts, 4, false));
  WINNOW_RETURN_IF_ERROR(CheckPointer("index_offsets", segment.index_offsets, 4, false));
  WINNOW_RETURN_IF_ERROR(CheckTopKOutputs(params, segment));
  WINNOW_RETURN_IF_ERROR(
      internal::CheckPages(segment.pages, segment.rows, segment.slots != nullptr ? "slots" : ""));
  WINNOW_RETURN_IF_ERROR(CheckPointer("plan", segment.plan, alignof(PlanHeader), false));
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kValueOutOfRange, "max_length", segment.max_length,
                                    0, std::numeric_limits<int32_t>::max()));
  return CheckPointer("report", segment.report, alignof(SegmentReport), true);
}

}  // namespace

absl::Status CheckTopK(const TopKParams& params, absl::Span<const TopKSegment> segments) {
  WINNOW_RETURN_IF_ERROR(internal::CheckScoreDtype(params.dtype));
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kKOutOfRange, "k", params.k, 1, kMaxK));
  WINNOW_RETURN_IF_ERROR(internal::CheckOrder(params.order));
  WINNOW_RETURN_IF_ERROR(internal::CheckSegmentCount(segments.size()));
  return internal::CheckEach(
      segments, [&](const TopKSegment& segment) { return CheckTopKSegment(params, segment); });
}

absl::Status CheckPlan(const PlanParams& params, int32_t rows) {
  WINNOW_RETURN_IF_ERROR(internal::CheckScoreDtype(params.dtype));
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kKOutOfRange, "k", params.k, 1, kMaxK));
  WINNOW_RETURN_IF_ERROR(
      CheckRange(ErrorReason::kShapeOutOfRange, "columns", params.columns, 1, kMaxColumns));
  return CheckRange(ErrorReason::kShapeOutOfRange, "rows", rows, 1, kMaxRows);
}

}  // namespace winnow
