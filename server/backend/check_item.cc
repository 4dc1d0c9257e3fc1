// CheckItem: the steps one by one, then the item as a whole. check_tensor.h checks single fields,
// check_host_data.h the contents.

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/backend/check_host_data.h"
#include "server/backend/check_tensor.h"
#include "server/backend/work_key.h"
#include "server/backend/work_shape.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxSteps = 64;
using EarlierSteps = absl::Span<const Step>;

absl::Status CheckBlockSize(int32_t block_size) {
  if (block_size >= kMinBlockSize && block_size <= kMaxBlockSize &&
      (block_size & (block_size - 1)) == 0) {
    return absl::OkStatus();
  }
  return InvalidField(ErrorReason::kBlockSizeInvalid, "block_size", block_size,
                      absl::StrCat("a power of two from ", kMinBlockSize, " to ", kMaxBlockSize));
}

absl::Status CheckOrder(Order order) {
  return CheckRange(ErrorReason::kEnumUnknown, "order", static_cast<int32_t>(order), 0, 2);
}

absl::Status CheckK(absl::string_view field, int32_t k) {
  return CheckRange(ErrorReason::kKOutOfRange, field, k, 1, kMaxK);
}

// Scores and their lengths.
absl::Status CheckScores(const TensorRef& scores, const TensorRef& lengths, DType dtype,
                         EarlierSteps earlier) {
  static constexpr DType kScoreTypes[] = {DType::kFloat32, DType::kBfloat16};
  WINNOW_RETURN_IF_ERROR(CheckTensor(
      {.field = "scores", .dtypes = kScoreTypes, .max_rows = kMaxRows, .max_columns = kMaxColumns},
      scores, earlier));
  if (scores.dtype != dtype) {
    return InvalidField(ErrorReason::kFieldsConflict, "scores.data_type",
                        static_cast<int32_t>(scores.dtype),
                        absl::StrCat(static_cast<int32_t>(dtype), ", the type of the operation"));
  }
  WINNOW_RETURN_IF_ERROR(CheckVector("lengths", lengths, scores.rows, true, earlier));
  // Without columns every row must be empty, and only lengths that lie here show it.
  if (scores.columns > 0 || scores.rows == 0 || lengths.source == TensorRef::Source::kHost) {
    return absl::OkStatus();
  }
  return CheckRange(ErrorReason::kShapeOutOfRange, "scores.column_count", 0, 1, kMaxColumns);
}

absl::Status CheckMaxLength(int32_t max_length) {
  return CheckRange(ErrorReason::kValueOutOfRange, "max_length", max_length, 0, kInt32Max);
}

absl::Status CheckStep(const TopKStep& step, EarlierSteps earlier) {
  WINNOW_RETURN_IF_ERROR(CheckK("k", step.params.k));
  WINNOW_RETURN_IF_ERROR(CheckOrder(step.params.order));
  WINNOW_RETURN_IF_ERROR(CheckScores(step.scores, step.lengths, step.params.dtype, earlier));
  const int64_t rows = step.scores.rows;
  WINNOW_RETURN_IF_ERROR(CheckVector("row_starts", step.row_starts, rows, false, earlier));
  WINNOW_RETURN_IF_ERROR(CheckVector("index_offsets", step.index_offsets, rows, false, earlier));
  WINNOW_RETURN_IF_ERROR(
      CheckPageTable(step.pages, rows, step.slots.wanted() ? "slots" : "", earlier));
  if (step.pages.table.present() && !step.slots.wanted()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "page_table is given but slots are not wanted; ask for slots or leave it out",
                     {.reason = ErrorReason::kFieldsConflict,
                      .field = "page_table",
                      .limit = "absent without slots"});
  }
  return CheckMaxLength(step.max_length);
}

absl::Status CheckStep(const BlockAmaxStep& step, EarlierSteps earlier) {
  WINNOW_RETURN_IF_ERROR(CheckBlockSize(step.params.block_size));
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kValueOutOfRange, "skip_at_most",
                                    step.params.skip_at_most, 0, kInt32Max));
  WINNOW_RETURN_IF_ERROR(CheckScores(step.scores, step.lengths, step.params.dtype, earlier));
  if (!step.keys.wanted()) return FieldMissing("keys", "the operation needs it");
  return CheckRange(ErrorReason::kShapeOutOfRange, "key_column_count", step.key_columns,
                    step.scores.rows == 0 ? 0 : 1, kMaxColumns);
}

absl::Status CheckStep(const SortBlocksStep& step, EarlierSteps earlier) {
  static constexpr DType kInt32Only[] = {DType::kInt32};
  WINNOW_RETURN_IF_ERROR(CheckBlockSize(step.params.block_size));
  WINNOW_RETURN_IF_ERROR(CheckTensor(
      {.field = "blocks", .dtypes = kInt32Only, .max_rows = kMaxRows, .max_columns = kMaxK},
      step.blocks, earlier));
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kShapeOutOfRange, "blocks.column_count",
                                    step.blocks.columns, 1, kMaxK));
  if (step.params.width != step.blocks.columns) {
    return InvalidField(ErrorReason::kShapeMismatch, "blocks.column_count", step.blocks.columns,
                        absl::StrCat(step.params.width, ", the width of the table"));
  }
  const int64_t rows = step.blocks.rows;
  WINNOW_RETURN_IF_ERROR(CheckVector("lengths", step.lengths, rows, true, earlier));
  if (!step.blocks_out.wanted()) return FieldMissing("out_blocks", "the operation needs it");
  const bool wants_slots = step.block_slots.wanted();
  WINNOW_RETURN_IF_ERROR(
      CheckPageTable(step.pages, rows, wants_slots ? "block_slots" : "", earlier));
  if (wants_slots) {
    WINNOW_RETURN_IF_ERROR(CheckPagesHoldBlocks(step.pages, step.params.block_size));
  }
  return CheckMaxLength(step.max_length);
}

absl::Status CheckStep(const PublishStep& step, EarlierSteps earlier) {
  WINNOW_RETURN_IF_ERROR(CheckK("k", step.params.k));
  WINNOW_RETURN_IF_ERROR(CheckK("k_blocks", step.params.k_blocks));
  WINNOW_RETURN_IF_ERROR(CheckBlockSize(step.params.block_size));
  WINNOW_RETURN_IF_ERROR(CheckOrder(step.params.order));
  WINNOW_RETURN_IF_ERROR(CheckScores(step.scores, step.lengths, step.params.dtype, earlier));
  const absl::string_view needed_by = step.slots.wanted()         ? "slots"
                                      : step.block_slots.wanted() ? "block_slots"
                                                                  : "";
  WINNOW_RETURN_IF_ERROR(CheckPageTable(step.pages, step.scores.rows, needed_by, earlier));
  if (step.block_slots.wanted()) {
    WINNOW_RETURN_IF_ERROR(CheckPagesHoldBlocks(step.pages, step.params.block_size));
  }
  return CheckMaxLength(step.max_length);
}

absl::Status CheckOne(const Step& step, EarlierSteps earlier, int64_t first_row) {
  WINNOW_RETURN_IF_ERROR(
      std::visit([&](const auto& operation) { return CheckStep(operation, earlier); }, step));
  WINNOW_RETURN_IF_ERROR(CheckOutputs(step));
  FaultRecord fault =
      std::visit([](const auto& operation) { return FindHostFault(operation); }, step);
  fault.row += static_cast<int32_t>(first_row);
  return StatusFromFault(fault);
}

}  // namespace

absl::Status CheckItem(const WorkItem& item) {
  const auto count = static_cast<int64_t>(item.steps.size());
  WINNOW_RETURN_IF_ERROR(CheckRange(ErrorReason::kValueOutOfRange, "steps", count, 1, kMaxSteps));
  const absl::Span<const Step> steps(item.steps);
  for (int64_t i = 0; i < count; ++i) {
    absl::Status status = CheckOne(steps[i], steps.first(i), item.first_row);
    if (status.ok()) continue;
    return count == 1 ? status : WithFieldPrefix(absl::StrCat("steps[", i, "]."), status);
  }
  return CheckOverlaps(steps);
}

}  // namespace winnow::server
