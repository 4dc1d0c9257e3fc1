// Host-side checks of the two-level indexer's operations: BlockAmax, SortCandidateBlocks and
// PublishCandidates. TopK and PlanTopK are in checks.cc.

#include <limits>

#include "kernels/field_checks.h"
#include "winnow/kernels/operations.h"
#include "winnow/kernels/status_macros.h"

namespace winnow {
namespace {

using internal::CheckMatrix;
using internal::CheckPointer;
using internal::CheckRange;

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

absl::Status CheckScores(DType dtype, const void* scores, int64_t rows, int64_t columns,
                         int64_t row_stride, const int32_t* lengths) {
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kShapeOutOfRange, "rows", rows, 1, kMaxRows));
  WINNOW_RETURN_IF_ERROR(
      CheckRange(ErrorReason::kShapeOutOfRange, "columns", columns, 1, kMaxColumns));
  WINNOW_RETURN_IF_ERROR(
      CheckMatrix({"scores", "row_stride", scores, rows, columns, row_stride, SizeOf(dtype)}));
  return CheckPointer("lengths", lengths, 4, true);
}

absl::Status CheckReport(int32_t max_length, const SegmentReport* report) {
  WINNOW_RETURN_IF_ERROR(
      CheckRange(ErrorReason::kValueOutOfRange, "max_length", max_length, 0, kInt32Max));
  return CheckPointer("report", report, alignof(SegmentReport), true);
}

absl::Status CheckBlockAmaxSegment(const BlockAmaxParams& params, const BlockAmaxSegment& segment) {
  WINNOW_RETURN_IF_ERROR(CheckScores(params.dtype, segment.scores, segment.rows, segment.columns,
                                     segment.row_stride, segment.lengths));
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kShapeOutOfRange, "keys_columns",
                                    segment.keys_columns, 1, kMaxColumns));
  WINNOW_RETURN_IF_ERROR(CheckMatrix({"keys", "keys_row_stride", segment.keys, segment.rows,
                                      segment.keys_columns, segment.keys_row_stride, 4}));
  WINNOW_RETURN_IF_ERROR(CheckPointer("block_counts", segment.block_counts, 4, false));
  return CheckReport(0, segment.report);
}

absl::Status CheckSortBlocksSegment(const SortBlocksParams& params,
                                    const SortBlocksSegment& segment) {
  const int64_t rows = segment.rows;
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kShapeOutOfRange, "rows", rows, 1, kMaxRows));
  WINNOW_RETURN_IF_ERROR(CheckMatrix({"blocks", "blocks_row_stride", segment.blocks, rows,
                                      params.width, segment.blocks_row_stride, 4}));
  WINNOW_RETURN_IF_ERROR(CheckPointer("lengths", segment.lengths, 4, true));
  WINNOW_RETURN_IF_ERROR(CheckMatrix({"out_blocks", "out_blocks_row_stride", segment.out_blocks,
                                      rows, params.width, segment.out_blocks_row_stride, 4}));
  if (segment.out_blocks == segment.blocks &&
      segment.out_blocks_row_stride != segment.blocks_row_stride) {
    return InvalidField(ErrorReason::kFieldsConflict, "out_blocks_row_stride",
                        segment.out_blocks_row_stride,
                        "the stride of blocks when the blocks are sorted in place");
  }
  WINNOW_RETURN_IF_ERROR(
      internal::CheckPages(segment.pages, rows, segment.block_slots ? "block_slots" : ""));
  if (segment.block_slots != nullptr) {
    WINNOW_RETURN_IF_ERROR(
        CheckMatrix({"block_slots", "block_slots_row_stride", segment.block_slots, rows,
                     params.width, segment.block_slots_row_stride, 4}));
    WINNOW_RETURN_IF_ERROR(internal::CheckPagesHoldBlocks(segment.pages, params.block_size));
  }
  WINNOW_RETURN_IF_ERROR(CheckPointer("candidate_lengths", segment.candidate_lengths, 4, false));
  return CheckReport(segment.max_length, segment.report);
}

absl::Status CheckPublishOutputs(const PublishParams& params, const PublishSegment& segment) {
  if (segment.slots == nullptr && segment.indices == nullptr && segment.blocks == nullptr &&
      segment.block_slots == nullptr && segment.candidate_lengths == nullptr) {
    return internal::MissingField("slots", "at least one output is needed");
  }
  struct Output {
    absl::string_view name, stride_name;
    const int32_t* base;
    int64_t columns, row_stride;
  };
  const Output outputs[] = {
      {"slots", "slots_row_stride", segment.slots, params.k, segment.slots_row_stride},
      {"indices", "indices_row_stride", segment.indices, params.k, segment.indices_row_stride},
      {"blocks", "blocks_row_stride", segment.blocks, params.k_blocks, segment.blocks_row_stride},
      {"block_slots", "block_slots_row_stride", segment.block_slots, params.k_blocks,
       segment.block_slots_row_stride},
  };
  for (const Output& output : outputs) {
    if (output.base == nullptr) continue;
    WINNOW_RETURN_IF_ERROR(CheckMatrix({output.name, output.stride_name, output.base, segment.rows,
                                        output.columns, output.row_stride, 4}));
  }
  return CheckPointer("candidate_lengths", segment.candidate_lengths, 4, false);
}

absl::Status CheckPublishSegment(const PublishParams& params, const PublishSegment& segment) {
  WINNOW_RETURN_IF_ERROR(CheckScores(params.dtype, segment.scores, segment.rows, segment.columns,
                                     segment.row_stride, segment.lengths));
  WINNOW_RETURN_IF_ERROR(CheckPublishOutputs(params, segment));
  const absl::string_view needed_by = segment.slots         ? "slots"
                                      : segment.block_slots ? "block_slots"
                                                            : "";
  WINNOW_RETURN_IF_ERROR(internal::CheckPages(segment.pages, segment.rows, needed_by));
  if (segment.block_slots != nullptr) {
    WINNOW_RETURN_IF_ERROR(internal::CheckPagesHoldBlocks(segment.pages, params.block_size));
  }
  return CheckReport(segment.max_length, segment.report);
}

}  // namespace

absl::Status CheckBlockAmax(const BlockAmaxParams& params,
                            absl::Span<const BlockAmaxSegment> segments) {
  WINNOW_RETURN_IF_ERROR(internal::CheckScoreDtype(params.dtype));
  WINNOW_RETURN_IF_ERROR(internal::CheckBlockSize(params.block_size));
  WINNOW_RETURN_IF_ERROR(
      CheckRange(ErrorReason::kValueOutOfRange, "skip_at_most", params.skip_at_most, 0, kInt32Max));
  WINNOW_RETURN_IF_ERROR(internal::CheckSegmentCount(segments.size()));
  return internal::CheckEach(segments, [&](const BlockAmaxSegment& segment) {
    return CheckBlockAmaxSegment(params, segment);
  });
}

absl::Status CheckSortBlocks(const SortBlocksParams& params,
                             absl::Span<const SortBlocksSegment> segments) {
  WINNOW_RETURN_IF_ERROR(
      CheckRange(ErrorReason::kShapeOutOfRange, "width", params.width, 1, kMaxK));
  WINNOW_RETURN_IF_ERROR(internal::CheckBlockSize(params.block_size));
  WINNOW_RETURN_IF_ERROR(internal::CheckSegmentCount(segments.size()));
  return internal::CheckEach(segments, [&](const SortBlocksSegment& segment) {
    return CheckSortBlocksSegment(params, segment);
  });
}

absl::Status CheckPublish(const PublishParams& params, absl::Span<const PublishSegment> segments) {
  WINNOW_RETURN_IF_ERROR(internal::CheckScoreDtype(params.dtype));
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kKOutOfRange, "k", params.k, 1, kMaxK));
  WINNOW_RETURN_IF_ERROR(
      CheckRange(ErrorReason::kKOutOfRange, "k_blocks", params.k_blocks, 1, kMaxK));
  WINNOW_RETURN_IF_ERROR(internal::CheckBlockSize(params.block_size));
  WINNOW_RETURN_IF_ERROR(internal::CheckOrder(params.order));
  WINNOW_RETURN_IF_ERROR(internal::CheckSegmentCount(segments.size()));
  return internal::CheckEach(segments, [&](const PublishSegment& segment) {
    return CheckPublishSegment(params, segment);
  });
}

}  // namespace winnow
