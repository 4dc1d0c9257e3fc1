// The whole server: backend, scheduler and RPC, started in that order and stopped in the reverse
// one. main.cc makes one.

#ifndef WINNOW_SERVER_APP_SERVER_H_
#define WINNOW_SERVER_APP_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/app/server_config.h"
#include "server/backend/backend.h"
#include "server/backend/backend_factory.h"

namespace winnow::server {

// "1.2.3".
std::string ServerVersion();

using BackendOpener =
    std::function<absl::StatusOr<std::unique_ptr<Backend>>(const BackendOptions&)>;

// Thread safety: Drain, CheckHealth and DoPeriodicWork are called from one thread.
class Server {
 public:
  // Opens the backend, listens and serves. `on_drain_request` is called, from a thread of the
  // server, when a peer asks for a drain; it must not block. Says in one log line that the server
  // is ready: version, backend and why, listeners, limits.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerConfig& config, std::function<void(absl::Duration timeout)> on_drain_request,
      const BackendOpener& open_backend = OpenBackend);
  virtual ~Server() = default;  // drains without waiting if Drain was not called

  // Addresses as a client would name them.
  virtual const std::vector<std::string>& addresses() const = 0;

  // Asks the backend. Unavailable once the device is lost: the server then says NOT_SERVING and
  // refuses work.
  virtual absl::Status CheckHealth() = 0;

  // Ends leases whose grace is over, drops descriptors that nobody imported, and reminds of
  // listeners in the clear. Called about once a second.
  virtual void DoPeriodicWork() = 0;

  // Says NOT_SERVING, refuses new work with SERVER_DRAINING, finishes what is queued within
  // `timeout`, cancels the rest, sends every reply, closes the listeners and joins all threads.
  virtual void Drain(absl::Duration timeout) = 0;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_SERVER_H_
