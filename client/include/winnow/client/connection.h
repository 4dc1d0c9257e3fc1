// What a Client talks to: the server through gRPC (MakeConnection), or a test double
// (mock_connection.h). Programs call a Client; they see this header only to inject a double or to
// wrap a connection.

#ifndef WINNOW_CLIENT_CONNECTION_H_
#define WINNOW_CLIENT_CONNECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/client/execute.h"
#include "winnow/client/future.h"
#include "winnow/client/lease_options.h"
#include "winnow/client/options.h"
#include "winnow/client/requests.h"
#include "winnow/client/results.h"
#include "winnow/client/server_info.h"

namespace winnow::client {

class LeaseConnection;  // lease_connection.h

// One method per RPC, in a blocking form and, for the operations, one that returns a future. The
// memory that a request names is read before the method returns, in both forms. Thread safety: all
// methods may be called from several threads.
class Connection {
 public:
  // Calls still under way end with Cancelled, and their callbacks have run, before this returns.
  virtual ~Connection() = default;

  virtual absl::StatusOr<PlanTopKResult> PlanTopK(const PlanTopKRequest& request,
                                                  const CallOptions& options) = 0;
  virtual absl::StatusOr<TopKResult> TopK(const TopKRequest& request,
                                          const CallOptions& options) = 0;
  virtual absl::StatusOr<BlockAmaxResult> BlockAmax(const BlockAmaxRequest& request,
                                                    const CallOptions& options) = 0;
  virtual absl::StatusOr<SortCandidateBlocksResult> SortCandidateBlocks(
      const SortCandidateBlocksRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<PublishCandidatesResult> PublishCandidates(
      const PublishCandidatesRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<ConsumeCandidatesResult> ConsumeCandidates(
      const ConsumeCandidatesRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<ExecuteResult> Execute(const ExecuteRequest& request,
                                                const CallOptions& options) = 0;

  virtual Future<PlanTopKResult> AsyncPlanTopK(const PlanTopKRequest& request,
                                               const CallOptions& options) = 0;
  virtual Future<TopKResult> AsyncTopK(const TopKRequest& request, const CallOptions& options) = 0;
  virtual Future<BlockAmaxResult> AsyncBlockAmax(const BlockAmaxRequest& request,
                                                 const CallOptions& options) = 0;
  virtual Future<SortCandidateBlocksResult> AsyncSortCandidateBlocks(
      const SortCandidateBlocksRequest& request, const CallOptions& options) = 0;
  virtual Future<PublishCandidatesResult> AsyncPublishCandidates(
      const PublishCandidatesRequest& request, const CallOptions& options) = 0;
  virtual Future<ConsumeCandidatesResult> AsyncConsumeCandidates(
      const ConsumeCandidatesRequest& request, const CallOptions& options) = 0;
  virtual Future<ExecuteResult> AsyncExecute(const ExecuteRequest& request,
                                             const CallOptions& options) = 0;

  virtual absl::StatusOr<std::shared_ptr<LeaseConnection>> OpenLease(
      const LeaseOptions& lease, const CallOptions& options) = 0;

  virtual absl::StatusOr<ServerInfo> GetServerInfo(const CallOptions& options) = 0;
  virtual absl::StatusOr<ServerStats> GetStats(const CallOptions& options) = 0;
  // Clusters resident at once, at least 1.
  virtual absl::StatusOr<int32_t> ProbeOccupancy(const ProbeOccupancyRequest& request,
                                                 const CallOptions& options) = 0;
  virtual absl::StatusOr<DrainResult> Drain(const DrainRequest& request,
                                            const CallOptions& options) = 0;
  virtual absl::StatusOr<std::vector<LeaseDescription>> ListLeases(const CallOptions& options) = 0;
  virtual absl::Status EndLease(const EndLeaseRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<HealthStatus> Health(const std::string& service,
                                              const CallOptions& options) = 0;
};

// A connection to options.target. Connects when the first call needs it, so that a server that is
// not there shows as Unavailable of that call. InvalidArgument when the target, the timeout or the
// retry policy cannot be used.
absl::StatusOr<std::shared_ptr<Connection>> MakeConnection(const ClientOptions& options);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_CONNECTION_H_
