// Accepts connections before gRPC sees them: checks who is at the other end of a Unix socket, and
// bounds how many there are.

#ifndef WINNOW_SERVER_APP_CONNECTION_GATE_H_
#define WINNOW_SERVER_APP_CONNECTION_GATE_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/app/listen_socket.h"
#include "server/base/metrics.h"
#include "server/rpc/rpc_server.h"

namespace winnow::server {

struct GateListener {
  ListenSocketOptions socket;
  ConnectionKind kind = ConnectionKind::kPlain;
};

struct ConnectionGateOptions {
  std::vector<GateListener> listeners;
  int max_connections = 1024;  // over all listeners but the administrator's
  // For Unix sockets, besides their mode; see UserAllowed.
  std::vector<uid_t> allowed_uids;
};

// Whether processes of that user may connect: the server's own, those that are listed, and with an
// empty list all.
bool UserAllowed(const std::vector<uid_t>& allowed, uid_t uid);

class ConnectionGate {
 public:
  // Takes the descriptor. Called on the gate's thread.
  using Adopt = std::function<void(int fd, ConnectionKind kind)>;

  // Listens at once; accepts after Open. `metrics` outlives the gate. Unavailable when an address
  // cannot be bound.
  static absl::StatusOr<std::unique_ptr<ConnectionGate>> Listen(ConnectionGateOptions options,
                                                                MetricsRegistry& metrics);
  virtual ~ConnectionGate() = default;  // Close, if it was not called

  // As given, with ports that were 0 filled in.
  virtual const std::vector<std::string>& addresses() const = 0;

  // Starts to accept. Once.
  virtual void Open(Adopt adopt) = 0;

  // Closes the listeners and removes their files. Once; what was accepted stays open.
  virtual void Close() = 0;

  // Ends the connections that are still open, under whoever reads and writes them. After Close,
  // from any thread.
  virtual void CutConnections() = 0;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_CONNECTION_GATE_H_
