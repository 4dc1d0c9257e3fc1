#include "client/cli/unreachable.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace winnow::cli {
namespace {

constexpr absl::string_view kStartOne =
    "start one with 'winnow-server', or name another with --target";

// The error of connecting, 0 when it succeeds.
int ConnectError(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  // Without waiting: a server whose backlog is full is there.
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connection < 0) return 0;
  const bool connected =
      connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  const int error = connected ? 0 : errno;
  close(connection);
  return error;
}

// What is wrong with the socket, ending in what to do; empty when nothing is to be seen.
std::string SocketTrouble(const std::string& path) {
  struct stat state;
  const int missing = stat(path.c_str(), &state) == 0 ? 0 : errno;
  if (missing == ENOENT || missing == ENOTDIR) {
    return absl::StrCat("there is no such socket; ", kStartOne);
  }
  if (missing == 0 && !S_ISSOCK(state.st_mode)) {
    return "it is no socket; name the one of a server with --target";
  }
  const int error = missing != 0 ? missing : ConnectError(path);
  if (error == EACCES) {
    return "permission denied: this user may not use the socket; the server's --listen says in "
           "which folder it is, --socket-group and --socket-mode who may use it";
  }
  if (error == ECONNREFUSED) {
    return absl::StrCat("the socket is left of a server that has ended; ", kStartOne);
  }
  return "";
}

}  // namespace

std::string WhyUnreachable(const std::string& target) {
  const std::string shown = absl::Utf8SafeCEscape(target);
  absl::string_view path = target;
  std::string trouble;
  if (absl::ConsumePrefix(&path, "unix:")) {
    absl::ConsumePrefix(&path, "//");  // unix:///absolute, which gRPC takes too
    trouble = SocketTrouble(std::string(path));
  }
  if (trouble.empty()) return absl::StrCat("no server answers at ", shown, "; ", kStartOne);
  return absl::StrCat("no server answers at ", shown, ": ", trouble);
}

std::string WhyNoTarget(absl::string_view source, absl::string_view target,
                        const absl::Status& why) {
  absl::string_view message = why.message();
  absl::ConsumePrefix(&message, "target ");
  const bool is_path = absl::StartsWith(target, "/") || absl::StartsWith(target, "./");
  return is_path ? absl::StrCat(source, " ", message, "; did you mean unix:", target, "?")
                 : absl::StrCat(source, " ", message);
}

}  // namespace winnow::cli
