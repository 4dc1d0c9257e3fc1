// The gRPC server: completion queues with one polling thread each, the services, health and
// reflection. Next: unary_call.h for the life of one call, rpc_method.h for how an RPC is added.

#ifndef WINNOW_SERVER_RPC_RPC_SERVER_H_
#define WINNOW_SERVER_RPC_RPC_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/security/server_credentials.h"
#include "server/rpc/rpc_environment.h"

namespace winnow::server {

// Without calls for so long, a server that nobody called since SetServing(false) is quiet.
inline constexpr absl::Duration kQuietTime = absl::Milliseconds(50);

// One that was called. Far above the time between the arrivals of a burst, also where its sender
// waits for a processor now and then; far below what an operator notices.
inline constexpr absl::Duration kBusyQuietTime = absl::Milliseconds(250);

// How a connection that the caller accepted is served.
enum class ConnectionKind {
  kPlain,
  kTls,
  kAdmin,  // in the clear, and known to be the administrator's: IsAdminPeer tells
};

// Whether a call's peer, as gRPC names it, came in as ConnectionKind::kAdmin.
bool IsAdminPeer(absl::string_view peer);

struct RpcServerOptions {
  // gRPC addresses: "unix:PATH" or "HOST:PORT"; port 0 takes a free one. In the clear.
  std::vector<std::string> listeners;
  bool adopts = false;  // whether Adopt will be called with plain connections
  // Of TLS connections for Adopt; null: none.
  std::shared_ptr<grpc::ServerCredentials> tls;
  int32_t queues = 1;                     // completion queues, one polling thread each
  int32_t max_concurrent_streams = 1024;  // calls at once on one connection
  int32_t max_metadata_bytes = 16 << 10;  // headers of one call
  // Bound of what gRPC itself holds in buffers for all connections; it closes some to get below.
  int64_t transport_memory_bytes = int64_t{2} << 30;
};

// Thread safety: methods may be called from several threads, Stop once.
class RpcServer {
 public:
  // Listens and serves. `environment` outlives the server. Unavailable when an address cannot be
  // bound.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const RpcServerOptions& options,
                                                          RpcEnvironment& environment);
  virtual ~RpcServer() = default;

  // The listeners as a client would name them: ports that were 0 are filled in.
  virtual const std::vector<std::string>& addresses() const = 0;

  // Serves a connection that the caller has accepted, and takes its descriptor. Not after Stop.
  virtual void Adopt(int fd, ConnectionKind kind) = 0;

  // What Health says of every service. NOT_SERVING wakes the watchers at once.
  virtual void SetServing(bool serving) = 0;

  // Waits until no call has arrived for a while (above) and the reply to each that did has left;
  // or until none has left for `patience`; or for `limit`. All but the limit are times of a process
  // that runs: one that waits for a processor needs longer. A call that has arrived but that
  // gRPC has not handed over when Stop begins ends CANCELLED, without a word why; after this there
  // is none unless a peer never pauses.
  virtual void AwaitQuiet(absl::Duration patience, absl::Duration limit) = 0;

  // Closes the listeners, ends what is left (watches, reflection) and joins the polling threads.
  // The scheduler must have finished every task before. gRPC closes no connection while a write to
  // it is under way, so that a peer that does not read would hold up the end: `cut_connections`,
  // which must end the connections of Adopt, is called from another thread when some are left.
  virtual void Stop(absl::AnyInvocable<void() &&> cut_connections) = 0;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_RPC_SERVER_H_
