// From the contract's messages to the public results. Inline data is moved out of the message, not
// copied. Internal when a reply is not what the contract says.

#ifndef WINNOW_CLIENT_SRC_RESULT_DECODING_H_
#define WINNOW_CLIENT_SRC_RESULT_DECODING_H_

#include <google/protobuf/wrappers.pb.h>

#include <vector>

#include "absl/status/status.h"
#include "client/src/no_fields.h"
#include "winnow/client/results.h"
#include "winnow/client/server_info.h"
#include "winnow/v1/admin_service.pb.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::client {

absl::Status Decode(v1::PlanTopKResponse& message, PlanTopKResult& result);
absl::Status Decode(v1::TopKResponse& message, TopKResult& result);
absl::Status Decode(v1::BlockAmaxResponse& message, BlockAmaxResult& result);
absl::Status Decode(v1::SortCandidateBlocksResponse& message, SortCandidateBlocksResult& result);
absl::Status Decode(v1::PublishCandidatesResponse& message, PublishCandidatesResult& result);
absl::Status Decode(v1::ConsumeCandidatesResponse& message, ConsumeCandidatesResult& result);
absl::Status Decode(v1::ExecuteResponse& message, ExecuteResult& result);

absl::Status Decode(v1::ProbeOccupancyResponse& message, int32_t& clusters);
absl::Status Decode(v1::DrainResponse& message, DrainResult& result);
// The bytes of grpc.health.v1.HealthCheckResponse; see request_encoding.h.
absl::Status Decode(google::protobuf::Int32Value& message, HealthStatus& status);

// In server_info_decoding.cc.
absl::Status Decode(v1::GetServerInfoResponse& message, ServerInfo& info);
absl::Status Decode(v1::GetStatsResponse& message, ServerStats& stats);

absl::Status Decode(v1::ListLeasesResponse& message, std::vector<LeaseDescription>& leases);
inline absl::Status Decode(v1::EndLeaseResponse&, NoFields&) { return absl::OkStatus(); }

// Shared by both files.
RouteCounts ToRouteCounts(const v1::RouteCounts& message);
absl::Duration ToDuration(const google::protobuf::Duration& message);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_RESULT_DECODING_H_
