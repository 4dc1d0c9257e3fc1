// Execute: the same steps as the unary calls, with references between them.

#include "absl/strings/str_cat.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/request_ordering.h"
#include "server/rpc/request_scope.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

template <typename Decoded, typename Message>
absl::Status DecodeInto(WorkItem& item, RequestScope& scope, const Message& message,
                        absl::Status (*decode)(RequestScope&, const Message&, Decoded&)) {
  Decoded decoded;
  WINNOW_RETURN_IF_ERROR(decode(scope, message, decoded));
  item.steps.emplace_back(std::move(decoded));
  return absl::OkStatus();
}

absl::Status DecodeStep(RequestScope& scope, const v1::Step& step, WorkItem& item) {
  switch (step.operation_case()) {
    case v1::Step::kTopK:
      return DecodeInto(item, scope, step.top_k(), DecodeTopKStep);
    case v1::Step::kBlockAmax:
      return DecodeInto(item, scope, step.block_amax(), DecodeBlockAmaxStep);
    case v1::Step::kSortCandidateBlocks:
      return DecodeInto(item, scope, step.sort_candidate_blocks(), DecodeSortBlocksStep);
    case v1::Step::OPERATION_NOT_SET:
      break;
  }
  return MissingField("operation", "a step needs one that this server knows");
}

}  // namespace

absl::StatusOr<WorkItem> DecodeSteps(const google::protobuf::RepeatedPtrField<v1::Step>& steps,
                                     const DecodeLimits& limits, RequestResources* resources) {
  WINNOW_RETURN_IF_ERROR(
      FieldInRange(ErrorReason::kValueOutOfRange, "steps", steps.size(), 1, limits.max_steps));
  RequestScope scope(limits, RequestKind::kSteps, resources);
  WorkItem item;
  item.steps.reserve(steps.size());
  for (int i = 0; i < steps.size(); ++i) {
    const absl::Status status = DecodeStep(scope, steps[i], item);
    if (!status.ok()) return WithinPart(absl::StrCat("steps[", i, "]."), status);
    scope.EndStep();
  }
  return item;
}

absl::StatusOr<WorkItem> DecodeExecute(const v1::ExecuteRequest& request,
                                       const DecodeLimits& limits, RequestResources* resources) {
  WINNOW_ASSIGN_OR_RETURN(WorkItem item, DecodeSteps(request.steps(), limits, resources));
  if (request.has_ordering()) {
    WINNOW_RETURN_IF_ERROR(DecodeOrdering(request.ordering(), limits, resources, item.ordering));
  }
  return item;
}

}  // namespace winnow::server
