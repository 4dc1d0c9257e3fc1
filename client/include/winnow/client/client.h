// The C++ client of a Winnow server: start here.
//
//   #include "winnow/client/client.h"
//
//   absl::StatusOr<winnow::client::Client> client = winnow::client::Client::Create();
//   if (!client.ok()) return client.status();
//   auto result = client->TopK({.scores = winnow::client::Float32Matrix(scores, rows, columns),
//                               .lengths = winnow::client::Int32Column(lengths),
//                               .k = 512});
//   if (!result.ok()) return result.status();
//   absl::Span<const int32_t> first_row = result->indices.row<int32_t>(0);
//
// Next: requests.h and results.h for the operations, execute.h for chains of steps, options.h for
// timeouts and retries, lease.h for memory, page tables and plans that stay with the server,
// error.h for how calls fail, mock_connection.h for tests.

#ifndef WINNOW_CLIENT_CLIENT_H_
#define WINNOW_CLIENT_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/client/connection.h"
#include "winnow/client/error.h"
#include "winnow/client/execute.h"
#include "winnow/client/future.h"
#include "winnow/client/lease_options.h"
#include "winnow/client/options.h"
#include "winnow/client/requests.h"
#include "winnow/client/results.h"
#include "winnow/client/server_info.h"

namespace winnow::client {

class Lease;

// A handle of a connection: cheap to copy, copies share the connection, the last one closes it (see
// Connection's destructor). Thread safety: all methods may be called from several threads, on one
// Client or on copies.
//
// Every call: the request's memory is read before the method returns and may change afterwards, in
// both forms. The blocking form returns when the result is there, the timeout (options.h) has
// passed or the stop token was stopped. The Async form never blocks on the network and starts no
// thread; its callbacks run on one thread that the connection owns. Transient failures are repeated
// as RetryPolicy says. Errors: error.h.
class Client {
 public:
  // Connects to options.target, by default the local server's socket. No round trip is made:
  // InvalidArgument when an option cannot be used, never Unavailable.
  static absl::StatusOr<Client> Create(const ClientOptions& options = {});
  // For tests and wrappers. `connection` is not null.
  explicit Client(std::shared_ptr<Connection> connection);

  // The operations.
  absl::StatusOr<PlanTopKResult> PlanTopK(const PlanTopKRequest& request,
                                          const CallOptions& options = {}) const;
  absl::StatusOr<TopKResult> TopK(const TopKRequest& request,
                                  const CallOptions& options = {}) const;
  absl::StatusOr<BlockAmaxResult> BlockAmax(const BlockAmaxRequest& request,
                                            const CallOptions& options = {}) const;
  absl::StatusOr<SortCandidateBlocksResult> SortCandidateBlocks(
      const SortCandidateBlocksRequest& request, const CallOptions& options = {}) const;
  absl::StatusOr<PublishCandidatesResult> PublishCandidates(const PublishCandidatesRequest& request,
                                                            const CallOptions& options = {}) const;
  absl::StatusOr<ConsumeCandidatesResult> ConsumeCandidates(const ConsumeCandidatesRequest& request,
                                                            const CallOptions& options = {}) const;
  absl::StatusOr<ExecuteResult> Execute(const ExecuteRequest& request,
                                        const CallOptions& options = {}) const;

  // The same, as futures.
  Future<PlanTopKResult> AsyncPlanTopK(const PlanTopKRequest& request,
                                       const CallOptions& options = {}) const;
  Future<TopKResult> AsyncTopK(const TopKRequest& request, const CallOptions& options = {}) const;
  Future<BlockAmaxResult> AsyncBlockAmax(const BlockAmaxRequest& request,
                                         const CallOptions& options = {}) const;
  Future<SortCandidateBlocksResult> AsyncSortCandidateBlocks(
      const SortCandidateBlocksRequest& request, const CallOptions& options = {}) const;
  Future<PublishCandidatesResult> AsyncPublishCandidates(const PublishCandidatesRequest& request,
                                                         const CallOptions& options = {}) const;
  Future<ConsumeCandidatesResult> AsyncConsumeCandidates(const ConsumeCandidatesRequest& request,
                                                         const CallOptions& options = {}) const;
  Future<ExecuteResult> AsyncExecute(const ExecuteRequest& request,
                                     const CallOptions& options = {}) const;

  // Opens a lease, for what is to outlive one request: buffers, page tables, plans. Include
  // lease.h. InvalidArgument for options that the server refuses; ResourceExhausted
  // (QUOTA_EXCEEDED) when it has its leases.
  absl::StatusOr<Lease> OpenLease(const LeaseOptions& lease = {},
                                  const CallOptions& options = {}) const;

  // About the server.
  absl::StatusOr<ServerInfo> GetServerInfo(const CallOptions& options = {}) const;
  absl::StatusOr<ServerStats> GetStats(const CallOptions& options = {}) const;
  // Clusters resident at once. FailedPrecondition (NO_CLUSTER_FITS) when none fits, Unimplemented
  // on a server without clusters.
  absl::StatusOr<int32_t> ProbeOccupancy(const ProbeOccupancyRequest& request,
                                         const CallOptions& options = {}) const;
  // Asks the server to finish its work and end. Answers at once. Never repeated.
  absl::StatusOr<DrainResult> Drain(const DrainRequest& request = {},
                                    const CallOptions& options = {}) const;
  // All leases, in the order they were opened.
  absl::StatusOr<std::vector<LeaseDescription>> ListLeases(const CallOptions& options = {}) const;
  // Ends another client's lease, as if its stream had ended. NotFound (LEASE_NOT_FOUND) when no
  // open lease has the number. Never repeated.
  absl::Status EndLease(const EndLeaseRequest& request, const CallOptions& options = {}) const;
  // Of the whole server (empty) or of one service, e.g. "winnow.v1.IndexerService". Never repeated.
  // A service that the server does not know: kServiceUnknown.
  absl::StatusOr<HealthStatus> Health(const std::string& service = "",
                                      const CallOptions& options = {}) const;

 private:
  // Shared by the copies of this client.
  std::shared_ptr<Connection> connection_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_CLIENT_H_
