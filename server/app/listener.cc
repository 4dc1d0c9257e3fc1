#include "server/app/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/plain_number.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

absl::Status BadListener(const ListenerRule& rule, absl::string_view text, absl::string_view why) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat("--", rule.flag, "=", text, ": ", why),
                   {.reason = ErrorReason::kValueOutOfRange,
                    .field = absl::StrCat("--", rule.flag),
                    .value = std::string(text),
                    .limit = std::string(why)});
}

// What is wrong with a socket path that a flag names, and what to do.
class Refuser {
 public:
  Refuser(absl::string_view flag, absl::string_view path) : flag_(flag), path_(path) {}

  absl::Status operator()(absl::string_view why, absl::string_view way_out) const {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat(flag_, "=unix:", path_, ": ", why, "; ", way_out),
                     {.reason = ErrorReason::kResourceBusy,
                      .field = std::string(flag_),
                      .value = std::string(path_)});
  }

 private:
  const absl::string_view flag_, path_;
};

// For `error` of making a file beside the socket.
absl::Status CannotUseFolder(const Refuser& refuse, const std::string& socket_path, int error) {
  const size_t slash = socket_path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : socket_path.substr(0, slash + 1);
  switch (error) {
    case ENOENT:
      return refuse(absl::StrCat("the folder ", folder, " does not exist"),
                    "make it or choose another path");
    case ENOTDIR:
      return refuse(absl::StrCat(folder, " is no folder"), "choose another path");
    case EACCES:
    case EROFS:
      return refuse(absl::StrCat("this user may not write in the folder ", folder, " (",
                                 strerror(error), ")"),
                    "change its owner or mode, or choose another path");
    default:
      return refuse(
          absl::StrCat("cannot make a file in the folder ", folder, ": ", strerror(error)),
          "choose another path");
  }
}

std::string FallbackFolder() { return absl::StrCat("/tmp/winnow-", getuid()); }

// /tmp is open to all: another user may have made the folder to catch our clients.
absl::Status MakePrivateFolder(const Refuser& refuse, const std::string& folder) {
  constexpr absl::string_view kWayOut = "choose another with --listen";
  if (mkdir(folder.c_str(), 0700) == 0) return absl::OkStatus();
  if (errno != EEXIST) {
    return refuse(absl::StrCat("cannot make the folder ", folder, ": ", strerror(errno)), kWayOut);
  }
  struct stat status;
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != getuid() || (status.st_mode & 022) != 0) {
    return refuse(absl::StrCat(folder, " is not a folder that this user alone may write"), kWayOut);
  }
  return absl::OkStatus();
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Removes a socket that nobody answers on.
absl::Status RemoveStaleSocket(const Refuser& refuse, const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? absl::OkStatus() : refuse(strerror(errno), "choose another path");
  }
  if (!S_ISSOCK(status.st_mode)) {
    return refuse("exists and is no socket", "remove it or choose another path");
  }
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_un address = AddressOf(path);
  const bool answered =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  const int error = answered ? 0 : errno;
  close(probe);
  if (error == ECONNREFUSED || error == ENOENT) {
    unlink(path.c_str());
    return absl::OkStatus();
  }
  // EAGAIN: its queue is full.
  if (error == 0 || error == EAGAIN) {
    return refuse("a server answers on it", "stop that one or choose another path");
  }
  // EACCES, say: access is checked before a listener is looked for.
  return refuse(absl::StrCat("whether a server answers on it is unknown: ", strerror(error)),
                "see whose it is, and remove it or choose another path");
}

// Opens and locks the file. A lock on a file that its last holder has removed meanwhile is worth
// nothing, so that case starts again.
absl::StatusOr<int> LockFile(const Refuser& refuse, const std::string& socket_path) {
  const std::string path = absl::StrCat(socket_path, ".lock");
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return CannotUseFolder(refuse, socket_path, errno);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      close(fd);
      return refuse("another winnow-server holds it", "stop that one or choose another path");
    }
    struct stat held, named;
    if (fstat(fd, &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino) {
      return fd;
    }
    close(fd);
  }
  return refuse("its lock file changes too often to lock it", "start again");
}

absl::StatusOr<Listener> ParseUnix(absl::string_view text, absl::string_view path,
                                   const ListenerRule& rule) {
  if (!rule.unix_allowed) return BadListener(rule, text, "give HOST:PORT");
  absl::ConsumePrefix(&path, "//");  // unix:///absolute, which gRPC takes too
  if (path.empty()) return BadListener(rule, text, "a path must follow unix:");
  if (path.size() > kMaxSocketPath) {
    return BadListener(rule, text,
                       absl::StrCat("a socket path has at most ", kMaxSocketPath, " bytes"));
  }
  return Listener{.address = absl::StrCat("unix:", path),
                  .socket_path = std::string(path),
                  .flag = absl::StrCat("--", rule.flag)};
}

// A number, not a name: a name may come to mean another address.
bool IsNumericHost(absl::string_view host) {
  in_addr address;
  if (inet_pton(AF_INET, std::string(host).c_str(), &address) == 1) return true;
  if (!absl::ConsumePrefix(&host, "[") || !absl::ConsumeSuffix(&host, "]")) return false;
  in6_addr address6;
  return inet_pton(AF_INET6, std::string(host).c_str(), &address6) == 1;
}

}  // namespace

absl::StatusOr<Listener> ParseListener(absl::string_view text, const ListenerRule& rule) {
  absl::string_view path = text;
  if (absl::ConsumePrefix(&path, "unix:")) return ParseUnix(text, path, rule);
  const size_t colon = text.rfind(':');
  int32_t port = -1;
  if (colon == absl::string_view::npos || !ParsePlainNumber(text.substr(colon + 1), port) ||
      port < 0 || port > 65535) {
    return BadListener(rule, text,
                       rule.unix_allowed ? "give unix:PATH or HOST:PORT with a port from 0 to 65535"
                                         : "give HOST:PORT with a port from 0 to 65535");
  }
  std::string host(text.substr(0, colon));
  if (host == "localhost") host = "127.0.0.1";
  if (!rule.beyond_loopback && !IsLoopback(host)) {
    return BadListener(rule, text,
                       absl::StrCat("only loopback addresses (localhost, 127.0.0.1, [::1]) may be "
                                    "used here; ",
                                    rule.way_out));
  }
  if (!IsNumericHost(host)) return BadListener(rule, text, "give the host as a number");
  return Listener{.address = absl::StrCat(host, ":", port),
                  .beyond_loopback = !IsLoopback(host),
                  .flag = absl::StrCat("--", rule.flag)};
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost" || host == "[::1]") return true;
  in_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

std::string DefaultListener() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/')
    return absl::StrCat("unix:", runtime, "/winnow.sock");
  return absl::StrCat("unix:", FallbackFolder(), "/winnow.sock");
}

absl::StatusOr<std::unique_ptr<SocketClaim>> SocketClaim::Take(const std::string& socket_path,
                                                               absl::string_view flag) {
  const Refuser refuse(flag, socket_path);
  if (absl::StartsWith(socket_path, FallbackFolder() + "/")) {
    WINNOW_RETURN_IF_ERROR(MakePrivateFolder(refuse, FallbackFolder()));
  }
  WINNOW_ASSIGN_OR_RETURN(const int lock_fd, LockFile(refuse, socket_path));
  std::unique_ptr<SocketClaim> claim(new SocketClaim(socket_path, lock_fd));
  WINNOW_RETURN_IF_ERROR(RemoveStaleSocket(refuse, socket_path));
  return claim;
}

SocketClaim::~SocketClaim() {
  unlink(absl::StrCat(socket_path_, ".lock").c_str());
  close(lock_fd_);
}

}  // namespace winnow::server
