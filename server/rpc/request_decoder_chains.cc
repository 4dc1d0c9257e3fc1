// The two standard chains: PublishCandidates is one fused step, ConsumeCandidates a TopK whose
// pages are blocks.

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/request_scope.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr int32_t kDefaultTokens = 512;
constexpr int32_t kDefaultBlocks = 2048;

absl::Status DecodeParams(const v1::PublishCandidatesRequest& request, PublishParams& params) {
  WINNOW_RETURN_IF_ERROR(DecodeK("k", request.k(), kDefaultTokens, params.k));
  WINNOW_RETURN_IF_ERROR(DecodeK("k_blocks", request.k_blocks(), kDefaultBlocks, params.k_blocks));
  WINNOW_RETURN_IF_ERROR(DecodeBlockSize(request.block_size(), params.block_size));
  params.deterministic = request.deterministic();
  return DecodeOrder(request.order(), params.order);
}

absl::Status DecodeOutputs(RequestScope& scope, const v1::PublishCandidatesRequest& request,
                           PublishStep& step) {
  const int64_t rows = step.scores.rows;
  const int64_t k = step.params.k;
  const int64_t k_blocks = step.params.k_blocks;
  WINNOW_RETURN_IF_ERROR(scope.Output("slots", WINNOW_OPTIONAL_FIELD(request, slots),
                                      {OutputName::kSlots, DType::kInt32, rows, k}, step.slots));
  WINNOW_RETURN_IF_ERROR(scope.Output("indices", WINNOW_OPTIONAL_FIELD(request, indices),
                                      {OutputName::kIndices, DType::kInt32, rows, k},
                                      step.indices));
  WINNOW_RETURN_IF_ERROR(scope.Output("blocks", WINNOW_OPTIONAL_FIELD(request, blocks),
                                      {OutputName::kBlocks, DType::kInt32, rows, k_blocks},
                                      step.blocks));
  WINNOW_RETURN_IF_ERROR(scope.Output("block_slots", WINNOW_OPTIONAL_FIELD(request, block_slots),
                                      {OutputName::kBlockSlots, DType::kInt32, rows, k_blocks},
                                      step.block_slots));
  WINNOW_RETURN_IF_ERROR(scope.Output(
      "candidate_lengths", WINNOW_OPTIONAL_FIELD(request, candidate_lengths),
      {OutputName::kCandidateLengths, DType::kInt32, rows, 1}, step.candidate_lengths));
  if (step.slots.wanted() || step.indices.wanted() || step.blocks.wanted() ||
      step.block_slots.wanted() || step.candidate_lengths.wanted()) {
    return absl::OkStatus();
  }
  return MissingField("slots", "at least one output must be wanted");
}

absl::Status DecodeConsumeStep(RequestScope& scope, const v1::ConsumeCandidatesRequest& request,
                               TopKStep& step) {
  WINNOW_RETURN_IF_ERROR(DecodeK("k", request.k(), kDefaultTokens, step.params.k));
  WINNOW_RETURN_IF_ERROR(DecodeBlockSize(request.block_size(), step.pages.page_size));
  WINNOW_RETURN_IF_ERROR(DecodeOrder(request.order(), step.params.order));
  step.params.deterministic = request.deterministic();
  WINNOW_RETURN_IF_ERROR(
      scope.Matrix("scores", WINNOW_OPTIONAL_FIELD(request, scores), {}, step.scores));
  step.params.dtype = step.scores.dtype;
  const int64_t rows = step.scores.rows;
  WINNOW_RETURN_IF_ERROR(scope.RequiredVector(
      "candidate_lengths", WINNOW_OPTIONAL_FIELD(request, candidate_lengths), rows, step.lengths));
  WINNOW_RETURN_IF_ERROR(scope.Matrix("block_slots", WINNOW_OPTIONAL_FIELD(request, block_slots),
                                      {.scores = false}, step.pages.table));
  if (step.pages.table.rows != rows) {
    return InvalidField(ErrorReason::kShapeMismatch, "block_slots.row_count", step.pages.table.rows,
                        absl::StrCat(rows, ", the rows of scores"));
  }
  const int64_t k = step.params.k;
  WINNOW_RETURN_IF_ERROR(scope.Output("slots", WINNOW_OPTIONAL_FIELD(request, slots),
                                      {OutputName::kSlots, DType::kInt32, rows, k}, step.slots));
  WINNOW_RETURN_IF_ERROR(scope.Output("indices", WINNOW_OPTIONAL_FIELD(request, indices),
                                      {OutputName::kIndices, DType::kInt32, rows, k},
                                      step.indices));
  WINNOW_RETURN_IF_ERROR(scope.Output("values", WINNOW_OPTIONAL_FIELD(request, values),
                                      {OutputName::kValues, step.params.dtype, rows, k},
                                      step.values));
  if (!step.slots.wanted() && !step.indices.wanted() && !step.values.wanted()) {
    return MissingField("slots", "at least one of slots, indices and values must be wanted");
  }
  if (!step.slots.wanted()) step.pages = {};
  step.max_length = MaxLength(step.lengths);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WorkItem> DecodePublish(const v1::PublishCandidatesRequest& request,
                                       const DecodeLimits& limits, RequestResources* resources) {
  RequestScope scope(limits, RequestKind::kUnary, resources);
  PublishStep step;
  WINNOW_RETURN_IF_ERROR(DecodeParams(request, step.params));
  WINNOW_RETURN_IF_ERROR(
      scope.Matrix("scores", WINNOW_OPTIONAL_FIELD(request, scores), {}, step.scores));
  step.params.dtype = step.scores.dtype;
  const int64_t rows = step.scores.rows;
  WINNOW_RETURN_IF_ERROR(
      scope.RequiredVector("lengths", WINNOW_OPTIONAL_FIELD(request, lengths), rows, step.lengths));
  WINNOW_RETURN_IF_ERROR(DecodeOutputs(scope, request, step));
  const absl::string_view needed_by = step.slots.wanted()         ? "slots"
                                      : step.block_slots.wanted() ? "block_slots"
                                                                  : "";
  WINNOW_RETURN_IF_ERROR(
      scope.Pages(WINNOW_OPTIONAL_FIELD(request, page_table), rows, needed_by, step.pages));
  step.max_length = MaxLength(step.lengths);
  WorkItem item;
  item.steps.emplace_back(std::move(step));
  return item;
}

absl::StatusOr<WorkItem> DecodeConsume(const v1::ConsumeCandidatesRequest& request,
                                       const DecodeLimits& limits, RequestResources* resources) {
  RequestScope scope(limits, RequestKind::kUnary, resources);
  TopKStep step;
  WINNOW_RETURN_IF_ERROR(DecodeConsumeStep(scope, request, step));
  WorkItem item;
  item.steps.emplace_back(std::move(step));
  return item;
}

}  // namespace winnow::server
