// TopK, and PlanTopK, which routes rows before a top-k with the same lengths.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/request_ordering.h"
#include "server/rpc/request_scope.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

absl::Status DecodeOutputs(RequestScope& scope, const v1::TopKStep& step, TopKStep& decoded) {
  const int64_t rows = decoded.scores.rows;
  const int64_t k = decoded.params.k;
  WINNOW_RETURN_IF_ERROR(scope.Output("indices", WINNOW_OPTIONAL_FIELD(step, indices),
                                      {OutputName::kIndices, DType::kInt32, rows, k},
                                      decoded.indices));
  WINNOW_RETURN_IF_ERROR(scope.Output("slots", WINNOW_OPTIONAL_FIELD(step, slots),
                                      {OutputName::kSlots, DType::kInt32, rows, k}, decoded.slots));
  WINNOW_RETURN_IF_ERROR(scope.Output("values", WINNOW_OPTIONAL_FIELD(step, values),
                                      {OutputName::kValues, decoded.params.dtype, rows, k},
                                      decoded.values));
  if (decoded.indices.wanted() || decoded.slots.wanted() || decoded.values.wanted()) {
    return absl::OkStatus();
  }
  return MissingField("indices", "at least one of indices, slots and values must be wanted");
}

}  // namespace

absl::Status DecodeTopKStep(RequestScope& scope, const v1::TopKStep& step, TopKStep& decoded) {
  WINNOW_RETURN_IF_ERROR(DecodeK("k", step.k(), 0, decoded.params.k));
  WINNOW_RETURN_IF_ERROR(DecodeOrder(step.order(), decoded.params.order));
  decoded.params.deterministic = step.deterministic();
  decoded.has_static_threshold = step.has_static_threshold();
  decoded.static_threshold = step.has_static_threshold() ? step.static_threshold() : -1;
  WINNOW_RETURN_IF_ERROR(
      scope.Matrix("scores", WINNOW_OPTIONAL_FIELD(step, scores), {}, decoded.scores));
  decoded.params.dtype = decoded.scores.dtype;
  const int64_t rows = decoded.scores.rows;
  WINNOW_RETURN_IF_ERROR(
      scope.RequiredVector("lengths", WINNOW_OPTIONAL_FIELD(step, lengths), rows, decoded.lengths));
  WINNOW_RETURN_IF_ERROR(scope.Vector("row_starts", WINNOW_OPTIONAL_FIELD(step, row_starts), rows,
                                      decoded.row_starts));
  WINNOW_RETURN_IF_ERROR(scope.Vector("index_offsets", WINNOW_OPTIONAL_FIELD(step, index_offsets),
                                      rows, decoded.index_offsets));
  WINNOW_RETURN_IF_ERROR(DecodeOutputs(scope, step, decoded));
  WINNOW_RETURN_IF_ERROR(scope.PlanOf(step, decoded));
  decoded.max_length = MaxLength(decoded.lengths);
  return scope.Pages(WINNOW_OPTIONAL_FIELD(step, page_table), rows,
                     decoded.slots.wanted() ? "slots" : "", decoded.pages);
}

absl::StatusOr<WorkItem> DecodeTopK(const v1::TopKRequest& request, const DecodeLimits& limits,
                                    RequestResources* resources) {
  WINNOW_ASSIGN_OR_RETURN(WorkItem item,
                          DecodeOnlyStep(request, limits, resources, DecodeTopKStep));
  if (request.has_ordering()) {
    WINNOW_RETURN_IF_ERROR(DecodeOrdering(request.ordering(), limits, resources, item.ordering));
  }
  return item;
}

absl::StatusOr<PlanRequest> DecodePlan(const v1::PlanTopKRequest& request,
                                       const DecodeLimits& limits) {
  PlanRequest plan;
  WINNOW_RETURN_IF_ERROR(DecodeK("k", request.k(), 0, plan.params.k));
  WINNOW_RETURN_IF_ERROR(FieldInRange(ErrorReason::kShapeOutOfRange, "column_count",
                                      request.column_count(), 1, kMaxColumns));
  if (request.data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    return MissingField("data_type", "the scores' type decides their route");
  }
  if (!v1::DataType_IsValid(request.data_type())) {
    return InvalidField(ErrorReason::kEnumUnknown, "data_type", request.data_type(), "1 to 3");
  }
  if (request.data_type() == v1::DATA_TYPE_INT32) {
    return InvalidField(ErrorReason::kDtypeUnsupported, "data_type", request.data_type(),
                        "1 (float32) or 2 (bfloat16)");
  }
  RequestScope scope(limits, RequestKind::kInline, nullptr);
  TensorRef lengths;
  WINNOW_RETURN_IF_ERROR(scope.RequiredVector("lengths", WINNOW_OPTIONAL_FIELD(request, lengths),
                                              request.lengths().row_count(), lengths));
  plan.params.dtype = static_cast<DType>(request.data_type());
  plan.params.columns = request.column_count();
  plan.params.static_threshold =
      request.has_static_threshold() ? std::max(-1, request.static_threshold()) : -1;
  // Strings hold their bytes at an address that malloc aligned, or in themselves at a multiple
  // of 8.
  plan.lengths = reinterpret_cast<const int32_t*>(lengths.data);
  plan.rows = static_cast<int32_t>(lengths.rows);
  plan.list_pooled_rows = request.list_pooled_rows();
  for (int32_t row = 0; row < plan.rows; ++row) {
    if (plan.lengths[row] <= plan.params.columns) continue;
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat("lengths[", row, "] is ", plan.lengths[row],
                                  " but column_count is ", plan.params.columns),
                     {.reason = ErrorReason::kLengthOutOfRange,
                      .field = "lengths",
                      .value = absl::StrCat(plan.lengths[row]),
                      .limit = absl::StrCat("at most ", plan.params.columns),
                      .row = row});
  }
  return plan;
}

}  // namespace winnow::server
