// A Client forwards to its Connection; what a call does is in connection_impl.cc.

#include "winnow/client/client.h"

#include <utility>

#include "winnow/kernels/status_macros.h"

namespace winnow::client {

absl::StatusOr<Client> Client::Create(const ClientOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<Connection> connection, MakeConnection(options));
  return Client(std::move(connection));
}

Client::Client(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}

absl::StatusOr<PlanTopKResult> Client::PlanTopK(const PlanTopKRequest& request,
                                                const CallOptions& options) const {
  return connection_->PlanTopK(request, options);
}

absl::StatusOr<TopKResult> Client::TopK(const TopKRequest& request,
                                        const CallOptions& options) const {
  return connection_->TopK(request, options);
}

absl::StatusOr<BlockAmaxResult> Client::BlockAmax(const BlockAmaxRequest& request,
                                                  const CallOptions& options) const {
  return connection_->BlockAmax(request, options);
}

absl::StatusOr<SortCandidateBlocksResult> Client::SortCandidateBlocks(
    const SortCandidateBlocksRequest& request, const CallOptions& options) const {
  return connection_->SortCandidateBlocks(request, options);
}

absl::StatusOr<PublishCandidatesResult> Client::PublishCandidates(
    const PublishCandidatesRequest& request, const CallOptions& options) const {
  return connection_->PublishCandidates(request, options);
}

absl::StatusOr<ConsumeCandidatesResult> Client::ConsumeCandidates(
    const ConsumeCandidatesRequest& request, const CallOptions& options) const {
  return connection_->ConsumeCandidates(request, options);
}

absl::StatusOr<ExecuteResult> Client::Execute(const ExecuteRequest& request,
                                              const CallOptions& options) const {
  return connection_->Execute(request, options);
}

Future<PlanTopKResult> Client::AsyncPlanTopK(const PlanTopKRequest& request,
                                             const CallOptions& options) const {
  return connection_->AsyncPlanTopK(request, options);
}

Future<TopKResult> Client::AsyncTopK(const TopKRequest& request, const CallOptions& options) const {
  return connection_->AsyncTopK(request, options);
}

Future<BlockAmaxResult> Client::AsyncBlockAmax(const BlockAmaxRequest& request,
                                               const CallOptions& options) const {
  return connection_->AsyncBlockAmax(request, options);
}

Future<SortCandidateBlocksResult> Client::AsyncSortCandidateBlocks(
    const SortCandidateBlocksRequest& request, const CallOptions& options) const {
  return connection_->AsyncSortCandidateBlocks(request, options);
}

Future<PublishCandidatesResult> Client::AsyncPublishCandidates(
    const PublishCandidatesRequest& request, const CallOptions& options) const {
  return connection_->AsyncPublishCandidates(request, options);
}

Future<ConsumeCandidatesResult> Client::AsyncConsumeCandidates(
    const ConsumeCandidatesRequest& request, const CallOptions& options) const {
  return connection_->AsyncConsumeCandidates(request, options);
}

Future<ExecuteResult> Client::AsyncExecute(const ExecuteRequest& request,
                                           const CallOptions& options) const {
  return connection_->AsyncExecute(request, options);
}

absl::StatusOr<ServerInfo> Client::GetServerInfo(const CallOptions& options) const {
  return connection_->GetServerInfo(options);
}

absl::StatusOr<ServerStats> Client::GetStats(const CallOptions& options) const {
  return connection_->GetStats(options);
}

absl::StatusOr<int32_t> Client::ProbeOccupancy(const ProbeOccupancyRequest& request,
                                               const CallOptions& options) const {
  return connection_->ProbeOccupancy(request, options);
}

absl::StatusOr<DrainResult> Client::Drain(const DrainRequest& request,
                                          const CallOptions& options) const {
  return connection_->Drain(request, options);
}

absl::StatusOr<std::vector<LeaseDescription>> Client::ListLeases(const CallOptions& options) const {
  return connection_->ListLeases(options);
}

absl::Status Client::EndLease(const EndLeaseRequest& request, const CallOptions& options) const {
  return connection_->EndLease(request, options);
}

absl::StatusOr<HealthStatus> Client::Health(const std::string& service,
                                            const CallOptions& options) const {
  return connection_->Health(service, options);
}

}  // namespace winnow::client
