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

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/plain_number.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr absl::string_view kUnix = "unix:";
constexpr int kBacklog = 128;

absl::Status CannotListen(const ListenSocketOptions& options, absl::string_view why) {
  return MakeError(
      absl::StatusCode::kUnavailable,
      absl::StrCat(options.flag, "=", options.address, ": cannot listen: ", why),
      {.reason = ErrorReason::kValueOutOfRange, .field = options.flag, .value = options.address});
}

// Why an address of TCP could not be bound, and what to do.
std::string WhyNotBound(int error) {
  switch (error) {
    case EADDRINUSE:
      return "the port is in use; stop the program that listens on it or choose another port";
    case EADDRNOTAVAIL:
      return "no network interface here has this address; choose one of this machine";
    case EACCES:
      return "ports below 1024 need the capability CAP_NET_BIND_SERVICE; choose a higher port";
    default:
      return absl::StrCat(strerror(error), "; choose another address");
  }
}

absl::Status SetAccess(const std::string& path, const ListenSocketOptions& options) {
  if (chmod(path.c_str(), options.mode) != 0) return CannotListen(options, strerror(errno));
  WINNOW_ASSIGN_OR_RETURN(const std::optional<gid_t> group, FindSocketGroup(options.group));
  if (!group.has_value()) return absl::OkStatus();
  if (chown(path.c_str(), static_cast<uid_t>(-1), *group) == 0) return absl::OkStatus();
  return CannotListen(options,
                      absl::StrCat("cannot give the socket to --socket-group=", options.group, ": ",
                                   strerror(errno), "; choose a group that this user is in"));
}

}  // namespace

absl::StatusOr<std::optional<gid_t>> FindSocketGroup(const std::string& name) {
  if (name.empty()) return std::nullopt;
  constexpr auto kNoGroup = static_cast<gid_t>(-1);  // leaves the group as it is
  gid_t number = 0;
  if (ParsePlainNumber(name, number) && number != kNoGroup) return number;
  const group* entry = getgrnam(name.c_str());
  if (entry != nullptr) return entry->gr_gid;
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      absl::StrCat("--socket-group is \"", name,
                   "\"; there is no such group, give one of 'getent group' or its number"),
      {.reason = ErrorReason::kValueOutOfRange, .field = "--socket-group", .value = name});
}

absl::StatusOr<ListenSocket> ListenSocket::OpenUnix(const std::string& path,
                                                    const ListenSocketOptions& options) {
  sockaddr_un address{};
  if (path.size() >= sizeof(address.sun_path)) return CannotListen(options, "the path is too long");
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid() ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return CannotListen(options, strerror(errno));
  }
  ListenSocket bound(std::move(fd), options.address);
  // Nobody can connect before listen(), so that mode and group are in force first.
  WINNOW_RETURN_IF_ERROR(SetAccess(path, options));
  if (listen(bound.fd(), kBacklog) != 0) return CannotListen(options, strerror(errno));
  return bound;
}

absl::StatusOr<ListenSocket> ListenSocket::OpenTcp(const ListenSocketOptions& options) {
  const std::string& text = options.address;
  const size_t colon = text.rfind(':');
  absl::string_view host = absl::string_view(text).substr(0, colon);
  absl::ConsumePrefix(&host, "[");
  absl::ConsumeSuffix(&host, "]");
  const addrinfo hints{.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                       .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(std::string(host).c_str(), text.c_str() + colon + 1, &hints, &found);
  if (error != 0) return CannotListen(options, gai_strerror(error));
  UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  const bool listening =
      fd.valid() && setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      bind(fd.get(), found->ai_addr, found->ai_addrlen) == 0 && listen(fd.get(), kBacklog) == 0;
  const int why = errno;
  freeaddrinfo(found);
  if (!listening) return CannotListen(options, WhyNotBound(why));
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  const uint16_t port = bound.ss_family == AF_INET6
                            ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                            : reinterpret_cast<const sockaddr_in&>(bound).sin_port;
  return ListenSocket(std::move(fd), absl::StrCat(text.substr(0, colon), ":", ntohs(port)));
}

absl::StatusOr<ListenSocket> ListenSocket::Open(const ListenSocketOptions& options) {
  absl::string_view path = options.address;
  if (absl::ConsumePrefix(&path, kUnix)) return OpenUnix(std::string(path), options);
  return OpenTcp(options);
}

ListenSocket::~ListenSocket() {
  if (fd_.valid() && is_unix()) unlink(address_.c_str() + kUnix.size());
}

bool ListenSocket::is_unix() const { return absl::StartsWith(address_, kUnix); }

}  // namespace winnow::server
