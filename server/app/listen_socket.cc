#include "server/app/listen_socket.h"

#include <arpa/inet.h>
#include <grp.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr int kBacklog = 128;

absl::Status CannotListen(absl::string_view address, absl::string_view why) {
  return MakeError(
      absl::StatusCode::kUnavailable, absl::StrCat("cannot listen on ", address, ": ", why),
      {.reason = ErrorReason::kValueOutOfRange, .field = "listen", .value = std::string(address)});
}

absl::StatusOr<gid_t> GroupOf(const std::string& name) {
  uint32_t number = 0;
  if (absl::SimpleAtoi(name, &number)) return number;
  const group* entry = getgrnam(name.c_str());
  if (entry != nullptr) return entry->gr_gid;
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      absl::StrCat("there is no group ", name, " for the socket"),
      {.reason = ErrorReason::kValueOutOfRange, .field = "--socket-group", .value = name});
}

absl::StatusOr<ListenSocket> ListenUnix(const std::string& path,
                                        const ListenSocketOptions& options) {
  sockaddr_un address{};
  if (path.size() >= sizeof(address.sun_path)) return CannotListen(path, "the path is too long");
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  // Nobody can connect before listen(), so that mode and group are in force first.
  absl::Status status;
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), options.mode) != 0) {
    status = CannotListen(options.address, strerror(errno));
  }
  if (status.ok() && !options.group.empty()) {
    const absl::StatusOr<gid_t> gid = GroupOf(options.group);
    status = gid.status();
    if (gid.ok() && chown(path.c_str(), static_cast<uid_t>(-1), *gid) != 0) {
      status = CannotListen(options.address, absl::StrCat("cannot give it to group ", options.group,
                                                          ": ", strerror(errno)));
    }
  }
  if (status.ok() && listen(fd, kBacklog) != 0) {
    status = CannotListen(options.address, strerror(errno));
  }
  if (status.ok()) return ListenSocket{.fd = fd, .address = options.address};
  if (fd >= 0) close(fd);
  return status;
}

absl::StatusOr<ListenSocket> ListenTcp(const std::string& text) {
  const size_t colon = text.rfind(':');
  absl::string_view host = absl::string_view(text).substr(0, colon);
  absl::ConsumePrefix(&host, "[");
  absl::ConsumeSuffix(&host, "]");
  const addrinfo hints{.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                       .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(std::string(host).c_str(), text.c_str() + colon + 1, &hints, &found);
  if (error != 0) return CannotListen(text, gai_strerror(error));
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  const bool listening =
      fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, kBacklog) == 0;
  const int why = errno;
  freeaddrinfo(found);
  if (!listening) {
    if (fd >= 0) close(fd);
    return CannotListen(text, strerror(why));
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  const uint16_t port = bound.ss_family == AF_INET6
                            ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                            : reinterpret_cast<const sockaddr_in&>(bound).sin_port;
  return ListenSocket{.fd = fd, .address = absl::StrCat(text.substr(0, colon), ":", ntohs(port))};
}

}  // namespace

absl::StatusOr<ListenSocket> OpenListenSocket(const ListenSocketOptions& options) {
  absl::string_view path = options.address;
  if (absl::ConsumePrefix(&path, "unix:")) return ListenUnix(std::string(path), options);
  return ListenTcp(options.address);
}

}  // namespace winnow::server
