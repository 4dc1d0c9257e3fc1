// A listening socket that the program itself opens, with the mode and group of a Unix one.

#ifndef WINNOW_SERVER_APP_LISTEN_SOCKET_H_
#define WINNOW_SERVER_APP_LISTEN_SOCKET_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/resources/shared_memory.h"

namespace winnow::server {

struct ListenSocketOptions {
  std::string address;  // "unix:PATH", or "HOST:PORT" with a numeric host ([..] around IPv6)
  mode_t mode = 0660;   // of a Unix socket
  std::string group;    // of a Unix socket, name or number; empty: the process's
  std::string flag = "--listen";  // what named the address, for messages
};

// The number of a group that is named or numbered; absent for an empty name. InvalidArgument
// (--socket-group) when there is none.
absl::StatusOr<std::optional<gid_t>> FindSocketGroup(const std::string& name);

// Move only. Closed when it is destroyed, and the file of a Unix one removed.
class ListenSocket {
 public:
  // Binds and listens. The permissions of a Unix socket are in force before it can be connected to.
  // Unavailable when the address cannot be bound, InvalidArgument for an unknown group; no file is
  // left then. Messages name flag and address.
  static absl::StatusOr<ListenSocket> Open(const ListenSocketOptions& options);
  ListenSocket(ListenSocket&&) = default;
  ~ListenSocket();

  int fd() const { return fd_.get(); }
  // As given, with a port that was 0 filled in.
  const std::string& address() const { return address_; }
  bool is_unix() const;

 private:
  ListenSocket(UniqueFd fd, std::string address)
      : fd_(std::move(fd)), address_(std::move(address)) {}
  static absl::StatusOr<ListenSocket> OpenUnix(const std::string& path,
                                               const ListenSocketOptions& options);
  static absl::StatusOr<ListenSocket> OpenTcp(const ListenSocketOptions& options);

  UniqueFd fd_;
  std::string address_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_LISTEN_SOCKET_H_
