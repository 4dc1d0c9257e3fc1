// The RPCs as data: name, messages and whether a repeat is safe.

#ifndef WINNOW_CLIENT_SRC_RPC_H_
#define WINNOW_CLIENT_SRC_RPC_H_

#include <google/protobuf/wrappers.pb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "client/src/call.h"
#include "client/src/request_encoding.h"
#include "client/src/result_decoding.h"

namespace winnow::client {

// Encode(Request, RequestMessage) and Decode(ResponseMessage, Result) exist for every one.
template <typename RequestT, typename RequestMessageT, typename ResponseMessageT, typename ResultT>
struct Rpc {
  using Request = RequestT;
  using RequestMessage = RequestMessageT;
  using ResponseMessage = ResponseMessageT;
  using Result = ResultT;

  const char* method;
  Repeat repeat = Repeat::kSafe;
};

inline constexpr Rpc<PlanTopKRequest, v1::PlanTopKRequest, v1::PlanTopKResponse, PlanTopKResult>
    kPlanTopK{"/winnow.v1.IndexerService/PlanTopK"};
inline constexpr Rpc<TopKRequest, v1::TopKRequest, v1::TopKResponse, TopKResult> kTopK{
    "/winnow.v1.IndexerService/TopK"};
inline constexpr Rpc<BlockAmaxRequest, v1::BlockAmaxRequest, v1::BlockAmaxResponse, BlockAmaxResult>
    kBlockAmax{"/winnow.v1.IndexerService/BlockAmax"};
inline constexpr Rpc<SortCandidateBlocksRequest, v1::SortCandidateBlocksRequest,
                     v1::SortCandidateBlocksResponse, SortCandidateBlocksResult>
    kSortCandidateBlocks{"/winnow.v1.IndexerService/SortCandidateBlocks"};
inline constexpr Rpc<PublishCandidatesRequest, v1::PublishCandidatesRequest,
                     v1::PublishCandidatesResponse, PublishCandidatesResult>
    kPublishCandidates{"/winnow.v1.IndexerService/PublishCandidates"};
inline constexpr Rpc<ConsumeCandidatesRequest, v1::ConsumeCandidatesRequest,
                     v1::ConsumeCandidatesResponse, ConsumeCandidatesResult>
    kConsumeCandidates{"/winnow.v1.IndexerService/ConsumeCandidates"};
inline constexpr Rpc<ExecuteRequest, v1::ExecuteRequest, v1::ExecuteResponse, ExecuteResult>
    kExecute{"/winnow.v1.IndexerService/Execute"};

inline constexpr Rpc<NoFields, v1::GetServerInfoRequest, v1::GetServerInfoResponse, ServerInfo>
    kGetServerInfo{"/winnow.v1.AdminService/GetServerInfo"};
inline constexpr Rpc<NoFields, v1::GetStatsRequest, v1::GetStatsResponse, ServerStats> kGetStats{
    "/winnow.v1.AdminService/GetStats"};
inline constexpr Rpc<ProbeOccupancyRequest, v1::ProbeOccupancyRequest, v1::ProbeOccupancyResponse,
                     int32_t>
    kProbeOccupancy{"/winnow.v1.AdminService/ProbeOccupancy"};
// A drain whose reply is lost may have begun: Unavailable may well mean that it worked.
inline constexpr Rpc<DrainRequest, v1::DrainRequest, v1::DrainResponse, DrainResult> kDrain{
    "/winnow.v1.AdminService/Drain", Repeat::kNever};
inline constexpr Rpc<NoFields, v1::ListLeasesRequest, v1::ListLeasesResponse,
                     std::vector<LeaseDescription>>
    kListLeases{"/winnow.v1.AdminService/ListLeases"};
// The repeat of one whose reply was lost would say that there is no such lease.
inline constexpr Rpc<EndLeaseRequest, v1::EndLeaseRequest, v1::EndLeaseResponse, NoFields>
    kEndLease{"/winnow.v1.AdminService/EndLease", Repeat::kNever};
// A health check asks how things are now.
inline constexpr Rpc<std::string, google::protobuf::StringValue, google::protobuf::Int32Value,
                     HealthStatus>
    kHealth{"/grpc.health.v1.Health/Check", Repeat::kNever};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_RPC_H_
