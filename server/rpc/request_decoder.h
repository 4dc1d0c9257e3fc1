// Requests become work items. Pure functions without gRPC: everything that can be wrong with a
// request and be seen on the host is refused here, before memory is reserved, with the path of the
// field at fault. One file per message: request_decoder_{top_k,blocks,chains,execute}.cc;
// request_scope.h holds what they share.

#ifndef WINNOW_SERVER_RPC_REQUEST_DECODER_H_
#define WINNOW_SERVER_RPC_REQUEST_DECODER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/backend/work.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::server {

class RequestResources;

struct DecodeLimits {
  int64_t max_inline_bytes = int64_t{64} << 20;  // of inputs, and of the outputs they imply, each
  int32_t max_steps = 64;                        // of an Execute request
  bool ordering = false;                         // whether the device waits for words and sets them
};

// `resources` finds what the request uses of its lease; null: the request has none. The item points
// into the request's bytes: the caller sets `keep_alive` to what owns the message, and the message
// must not change while the item lives. InvalidArgument with reason, field path
// (`step.scores.row_stride`), value and limit; ResourceExhausted (MESSAGE_TOO_LARGE) when inputs or
// outputs are larger than the limits allow.
absl::StatusOr<WorkItem> DecodeTopK(const v1::TopKRequest& request, const DecodeLimits& limits,
                                    RequestResources* resources = nullptr);
absl::StatusOr<WorkItem> DecodeBlockAmax(const v1::BlockAmaxRequest& request,
                                         const DecodeLimits& limits,
                                         RequestResources* resources = nullptr);
absl::StatusOr<WorkItem> DecodeSortBlocks(const v1::SortCandidateBlocksRequest& request,
                                          const DecodeLimits& limits,
                                          RequestResources* resources = nullptr);
absl::StatusOr<WorkItem> DecodePublish(const v1::PublishCandidatesRequest& request,
                                       const DecodeLimits& limits,
                                       RequestResources* resources = nullptr);
absl::StatusOr<WorkItem> DecodeConsume(const v1::ConsumeCandidatesRequest& request,
                                       const DecodeLimits& limits,
                                       RequestResources* resources = nullptr);
absl::StatusOr<WorkItem> DecodeExecute(const v1::ExecuteRequest& request,
                                       const DecodeLimits& limits,
                                       RequestResources* resources = nullptr);

// The steps of Execute, or of a command of ExecuteStream.
absl::StatusOr<WorkItem> DecodeSteps(const google::protobuf::RepeatedPtrField<v1::Step>& steps,
                                     const DecodeLimits& limits, RequestResources* resources);

// A plan is made on the host, without a task.
struct PlanRequest {
  PlanParams params;
  const int32_t* lengths = nullptr;  // [rows], in the request's bytes
  int32_t rows = 0;
  bool list_pooled_rows = false;
};
absl::StatusOr<PlanRequest> DecodePlan(const v1::PlanTopKRequest& request,
                                       const DecodeLimits& limits);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_REQUEST_DECODER_H_
