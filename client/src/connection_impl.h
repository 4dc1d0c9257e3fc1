// The connection behind MakeConnection: encode, call with retries, decode.

#ifndef WINNOW_CLIENT_SRC_CONNECTION_IMPL_H_
#define WINNOW_CLIENT_SRC_CONNECTION_IMPL_H_

#include <memory>
#include <string>
#include <vector>

#include "client/src/byte_stream.h"
#include "client/src/call.h"
#include "client/src/completion_thread.h"
#include "client/src/in_flight.h"
#include "client/src/lease_core.h"
#include "client/src/stub.h"
#include "winnow/client/connection.h"

namespace winnow::client {

// What a connection calls through. Shared by the connection and its asynchronous calls: a callback
// may drop the last client, and what runs the callback must not go with it.
struct Transport {
  std::shared_ptr<CompletionThread> completions;  // null when a test's stub and clock need none.
                                                  // Shared with the transports of leases
  std::shared_ptr<const Transport> base;          // of a lease: that of its client
  std::unique_ptr<Stub> unary;                    // one attempt, one call; null in that of a lease
  ByteStreamOpener open_stream;                   // null unless the client streams
  std::unique_ptr<Stub> streaming;                // over `unary` and `open_stream`
  std::unique_ptr<Stub> stub;                     // the outermost decorator; null: none
  CallEnvironment environment;  // names the outermost stub, and `completions` or a test's clock
};

// What the operations of a lease call through: for a client that streams a stream of its own, else
// `base`.
std::shared_ptr<const Transport> TransportOfLease(const std::shared_ptr<const Transport>& base,
                                                  const ClientOptions& options);

class ConnectionImpl final : public Connection {
 public:
  // CheckOptions accepts `options`. `lease`: the operations run under it; null: they may use no
  // resources.
  ConnectionImpl(ClientOptions options, std::shared_ptr<const Transport> transport,
                 std::shared_ptr<LeaseCore> lease = nullptr);
  ~ConnectionImpl() override;

  absl::StatusOr<PlanTopKResult> PlanTopK(const PlanTopKRequest& request,
                                          const CallOptions& options) override;
  absl::StatusOr<TopKResult> TopK(const TopKRequest& request, const CallOptions& options) override;
  absl::StatusOr<BlockAmaxResult> BlockAmax(const BlockAmaxRequest& request,
                                            const CallOptions& options) override;
  absl::StatusOr<SortCandidateBlocksResult> SortCandidateBlocks(
      const SortCandidateBlocksRequest& request, const CallOptions& options) override;
  absl::StatusOr<PublishCandidatesResult> PublishCandidates(const PublishCandidatesRequest& request,
                                                            const CallOptions& options) override;
  absl::StatusOr<ConsumeCandidatesResult> ConsumeCandidates(const ConsumeCandidatesRequest& request,
                                                            const CallOptions& options) override;
  absl::StatusOr<ExecuteResult> Execute(const ExecuteRequest& request,
                                        const CallOptions& options) override;

  Future<PlanTopKResult> AsyncPlanTopK(const PlanTopKRequest& request,
                                       const CallOptions& options) override;
  Future<TopKResult> AsyncTopK(const TopKRequest& request, const CallOptions& options) override;
  Future<BlockAmaxResult> AsyncBlockAmax(const BlockAmaxRequest& request,
                                         const CallOptions& options) override;
  Future<SortCandidateBlocksResult> AsyncSortCandidateBlocks(
      const SortCandidateBlocksRequest& request, const CallOptions& options) override;
  Future<PublishCandidatesResult> AsyncPublishCandidates(const PublishCandidatesRequest& request,
                                                         const CallOptions& options) override;
  Future<ConsumeCandidatesResult> AsyncConsumeCandidates(const ConsumeCandidatesRequest& request,
                                                         const CallOptions& options) override;
  Future<ExecuteResult> AsyncExecute(const ExecuteRequest& request,
                                     const CallOptions& options) override;

  absl::StatusOr<std::shared_ptr<LeaseConnection>> OpenLease(const LeaseOptions& lease,
                                                             const CallOptions& options) override;

  absl::StatusOr<ServerInfo> GetServerInfo(const CallOptions& options) override;
  absl::StatusOr<ServerStats> GetStats(const CallOptions& options) override;
  absl::StatusOr<int32_t> ProbeOccupancy(const ProbeOccupancyRequest& request,
                                         const CallOptions& options) override;
  absl::StatusOr<DrainResult> Drain(const DrainRequest& request,
                                    const CallOptions& options) override;
  absl::StatusOr<std::vector<LeaseDescription>> ListLeases(const CallOptions& options) override;
  absl::Status EndLease(const EndLeaseRequest& request, const CallOptions& options) override;
  absl::StatusOr<HealthStatus> Health(const std::string& service,
                                      const CallOptions& options) override;

 private:
  // The message of `request`. Sets the gate of `settings` when the call runs under the lease.
  template <typename Rpc>
  absl::Status EncodeRequest(const Rpc& rpc, const typename Rpc::Request& request,
                             typename Rpc::RequestMessage& message, CallSettings& settings) const;
  // The blocking and the asynchronous form of every RPC of rpc.h.
  template <typename Rpc>
  absl::StatusOr<typename Rpc::Result> Run(const Rpc& rpc, const typename Rpc::Request& request,
                                           const CallOptions& options);
  template <typename Rpc>
  Future<typename Rpc::Result> Start(const Rpc& rpc, const typename Rpc::Request& request,
                                     const CallOptions& options);

  const ClientOptions options_;
  std::shared_ptr<const Transport> transport_;
  const std::shared_ptr<InFlight> in_flight_;  // shared with the calls under way
  const std::shared_ptr<LeaseCore> lease_;     // shared with the lease's other parts
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_CONNECTION_IMPL_H_
