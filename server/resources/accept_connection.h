// Takes connections from a listening socket on a thread that polls it.

#ifndef WINNOW_SERVER_RESOURCES_ACCEPT_CONNECTION_H_
#define WINNOW_SERVER_RESOURCES_ACCEPT_CONNECTION_H_

#include "absl/status/statusor.h"
#include "server/resources/shared_memory.h"

namespace winnow::server {

// The next connection of `listener`, a socket that does not block; nor does the connection.
// Unavailable when none waits. ResourceExhausted when the process has no descriptor left, after a
// pause of 50 ms: the connection stays where it is, and a poll would report it again at once.
absl::StatusOr<UniqueFd> AcceptConnection(int listener);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_ACCEPT_CONNECTION_H_
