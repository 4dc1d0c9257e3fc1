// Where a server listens: which addresses are allowed, and the socket file of a Unix listener.

#ifndef WINNOW_SERVER_APP_LISTENER_H_
#define WINNOW_SERVER_APP_LISTENER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace winnow::server {

struct Listener {
  std::string address;      // as gRPC takes it
  std::string socket_path;  // of a Unix listener; empty on TCP
  bool beyond_loopback = false;
  std::string flag;  // what named it, for messages: "--listen"
};

// What an address of some flag may be.
struct ListenerRule {
  absl::string_view flag = "listen";  // for messages
  bool unix_allowed = true;
  bool beyond_loopback = false;
  // Told when an address is beyond loopback and may not be.
  absl::string_view way_out =
      "others need TLS (--tls-cert and --tls-key), or --insecure-listen for plaintext";
};

// Accepts unix:PATH, and HOST:PORT with a loopback host (localhost, 127.0.0.0/8, [::1]) or, where
// the rule allows it, any address in numbers. InvalidArgument names flag and address.
absl::StatusOr<Listener> ParseListener(absl::string_view text, const ListenerRule& rule = {});

// Whether `host` is localhost, [::1] or in 127.0.0.0/8.
bool IsLoopback(const std::string& host);

// unix:$XDG_RUNTIME_DIR/winnow.sock, or unix:/tmp/winnow-UID/winnow.sock without that variable.
std::string DefaultListener();

// Holds the right to a socket path, by a lock on PATH.lock, until it is destroyed; then the lock
// file is removed.
class SocketClaim {
 public:
  // Makes the last folder of the path (mode 0700) when it is the default one and missing. Removes
  // the socket of a server that died. FailedPrecondition when a server holds the path, answers on
  // it or might, when something that is no socket is there, when the folder is missing, may not be
  // written or belongs to another user. `flag` is what named the path, for messages.
  static absl::StatusOr<std::unique_ptr<SocketClaim>> Take(const std::string& socket_path,
                                                           absl::string_view flag = "--listen");
  ~SocketClaim();
  SocketClaim(const SocketClaim&) = delete;
  SocketClaim& operator=(const SocketClaim&) = delete;

  const std::string& path() const { return socket_path_; }

 private:
  SocketClaim(std::string socket_path, int lock_fd)
      : socket_path_(std::move(socket_path)), lock_fd_(lock_fd) {}

  const std::string socket_path_;
  const int lock_fd_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_LISTENER_H_
