#include "server/resources/accept_connection.h"

#include <sys/socket.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/time/clock.h"

namespace winnow::server {
namespace {

constexpr absl::Duration kPauseWithoutDescriptors = absl::Milliseconds(50);

}  // namespace

absl::StatusOr<UniqueFd> AcceptConnection(int listener) {
  UniqueFd connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection.valid()) return connection;
  if (errno != EMFILE && errno != ENFILE) return absl::UnavailableError("no connection waits");
  absl::SleepFor(kPauseWithoutDescriptors);
  return absl::ResourceExhaustedError("no descriptors left");
}

}  // namespace winnow::server
