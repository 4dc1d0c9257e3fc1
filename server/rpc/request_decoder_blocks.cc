// BlockAmax and SortCandidateBlocks.

#include <limits>

#include "server/rpc/request_decoder.h"
#include "server/rpc/request_scope.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr int32_t kMaxKeyColumns = kMaxColumns / kMinBlockSize;

// Columns of the keys when the request does not say: as many blocks as the scores can have.
int32_t DefaultKeyColumns(int64_t columns, int32_t block_size) {
  const int64_t blocks = (columns + block_size - 1) / block_size;
  return blocks == 0 ? 1 : static_cast<int32_t>(blocks);
}

}  // namespace

absl::Status DecodeBlockAmaxStep(RequestScope& scope, const v1::BlockAmaxStep& step,
                                 BlockAmaxStep& decoded) {
  WINNOW_RETURN_IF_ERROR(DecodeBlockSize(step.block_size(), decoded.params.block_size));
  WINNOW_RETURN_IF_ERROR(FieldInRange(ErrorReason::kValueOutOfRange, "skip_at_most",
                                      step.skip_at_most(), 0, std::numeric_limits<int32_t>::max()));
  decoded.params.skip_at_most = step.skip_at_most();
  WINNOW_RETURN_IF_ERROR(
      scope.Matrix("scores", WINNOW_OPTIONAL_FIELD(step, scores), {}, decoded.scores));
  decoded.params.dtype = decoded.scores.dtype;
  const int64_t rows = decoded.scores.rows;
  WINNOW_RETURN_IF_ERROR(
      scope.RequiredVector("lengths", WINNOW_OPTIONAL_FIELD(step, lengths), rows, decoded.lengths));
  WINNOW_RETURN_IF_ERROR(FieldInRange(ErrorReason::kShapeOutOfRange, "key_column_count",
                                      step.key_column_count(), 0, kMaxKeyColumns));
  decoded.key_columns = step.key_column_count() != 0
                            ? step.key_column_count()
                            : DefaultKeyColumns(decoded.scores.columns, decoded.params.block_size);
  WINNOW_RETURN_IF_ERROR(
      scope.Output("keys", WINNOW_OPTIONAL_FIELD(step, keys),
                   {OutputName::kKeys, DType::kFloat32, rows, decoded.key_columns}, decoded.keys));
  if (!decoded.keys.wanted()) return MissingField("keys", "the operation makes them");
  return scope.Output("block_counts", WINNOW_OPTIONAL_FIELD(step, block_counts),
                      {OutputName::kBlockCounts, DType::kInt32, rows, 1}, decoded.block_counts);
}

absl::Status DecodeSortBlocksStep(RequestScope& scope, const v1::SortCandidateBlocksStep& step,
                                  SortBlocksStep& decoded) {
  WINNOW_RETURN_IF_ERROR(DecodeBlockSize(step.block_size(), decoded.params.block_size));
  WINNOW_RETURN_IF_ERROR(scope.Matrix("blocks", WINNOW_OPTIONAL_FIELD(step, blocks),
                                      {.scores = false, .min_columns = 1, .max_columns = kMaxK},
                                      decoded.blocks));
  const int64_t rows = decoded.blocks.rows;
  const int64_t width = decoded.blocks.columns;
  decoded.params.width = static_cast<int32_t>(width);
  WINNOW_RETURN_IF_ERROR(
      scope.RequiredVector("lengths", WINNOW_OPTIONAL_FIELD(step, lengths), rows, decoded.lengths));
  WINNOW_RETURN_IF_ERROR(scope.Output("out_blocks", WINNOW_OPTIONAL_FIELD(step, out_blocks),
                                      {OutputName::kBlocks, DType::kInt32, rows, width},
                                      decoded.blocks_out));
  if (!decoded.blocks_out.wanted()) return MissingField("out_blocks", "the operation makes them");
  WINNOW_RETURN_IF_ERROR(scope.Output("block_slots", WINNOW_OPTIONAL_FIELD(step, block_slots),
                                      {OutputName::kBlockSlots, DType::kInt32, rows, width},
                                      decoded.block_slots));
  WINNOW_RETURN_IF_ERROR(scope.Output(
      "candidate_lengths", WINNOW_OPTIONAL_FIELD(step, candidate_lengths),
      {OutputName::kCandidateLengths, DType::kInt32, rows, 1}, decoded.candidate_lengths));
  decoded.max_length = MaxLength(decoded.lengths);
  return scope.Pages(WINNOW_OPTIONAL_FIELD(step, page_table), rows,
                     decoded.block_slots.wanted() ? "block_slots" : "", decoded.pages);
}

absl::StatusOr<WorkItem> DecodeBlockAmax(const v1::BlockAmaxRequest& request,
                                         const DecodeLimits& limits, RequestResources* resources) {
  return DecodeOnlyStep(request, limits, resources, DecodeBlockAmaxStep);
}

absl::StatusOr<WorkItem> DecodeSortBlocks(const v1::SortCandidateBlocksRequest& request,
                                          const DecodeLimits& limits, RequestResources* resources) {
  return DecodeOnlyStep(request, limits, resources, DecodeSortBlocksStep);
}

}  // namespace winnow::server
