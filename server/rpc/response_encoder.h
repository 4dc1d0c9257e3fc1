// Results become replies. The bytes of outputs are moved, not copied.

#ifndef WINNOW_SERVER_RPC_RESPONSE_ENCODER_H_
#define WINNOW_SERVER_RPC_RESPONSE_ENCODER_H_

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "server/backend/work.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::server {

void EncodeDuration(absl::Duration duration, google::protobuf::Duration& encoded);
// Counts of kRouteCount routes.
void EncodeRoutes(const int32_t* route_rows, v1::RouteCounts& encoded);

// `item` is done and Ok; its outputs are empty afterwards.
void EncodeTopK(WorkItem& item, v1::TopKResponse& response);
void EncodeBlockAmax(WorkItem& item, v1::BlockAmaxResponse& response);
void EncodeSortBlocks(WorkItem& item, v1::SortCandidateBlocksResponse& response);
void EncodePublish(WorkItem& item, v1::PublishCandidatesResponse& response);
void EncodeConsume(WorkItem& item, v1::ConsumeCandidatesResponse& response);
void EncodeExecute(WorkItem& item, v1::ExecuteResponse& response);

// `plan` is what HostPlan wrote.
void EncodePlan(const std::byte* plan, bool list_pooled_rows, v1::PlanTopKResponse& response);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_RESPONSE_ENCODER_H_
