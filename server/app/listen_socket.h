// A listening socket that the program itself opens, with the mode and group of a Unix one.

#ifndef WINNOW_SERVER_APP_LISTEN_SOCKET_H_
#define WINNOW_SERVER_APP_LISTEN_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace winnow::server {

struct ListenSocketOptions {
  std::string address;  // "unix:PATH", or "HOST:PORT" with a numeric host ([..] around IPv6)
  mode_t mode = 0660;   // of a Unix socket
  std::string group;    // of a Unix socket, name or number; empty: the process's
};

struct ListenSocket {
  int fd = -1;          // the caller closes it
  std::string address;  // as given, with a port that was 0 filled in
};

// Binds and listens; does not block on accept. The permissions of a Unix socket are in force before
// it can be connected to. Unavailable when the address cannot be bound, InvalidArgument for an
// unknown group.
absl::StatusOr<ListenSocket> OpenListenSocket(const ListenSocketOptions& options);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_APP_LISTEN_SOCKET_H_
