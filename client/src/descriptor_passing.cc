#include "winnow/client/descriptor_passing.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "winnow/client/unique_descriptor.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"
#include "winnow/v1/error_detail.pb.h"

namespace winnow::client {
namespace {

absl::Status Unreachable(absl::string_view path, absl::string_view what, int error) {
  return absl::UnavailableError(
      absl::StrCat("descriptor socket ", path, ": ", what, ": ", std::strerror(error)));
}

absl::Status ClosedToUser(absl::string_view path) {
  return absl::UnavailableError(absl::StrCat(
      "descriptor socket ", path, ": permission denied: this user may not connect to it, and ",
      "whether a server listens there or a dead one left it is unknown; remove it if it is left, ",
      "else run as a user or in a group that may"));
}

absl::Status Distrust(absl::string_view folder, absl::string_view why) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   absl::StrCat("the descriptor socket's folder ", folder, " ", why,
                                "; memory is not shared through it"),
                   {.reason = ErrorReason::kPermissionDenied, .field = "descriptor_socket_path"});
}

// What the server appends to the path of its socket.
constexpr absl::string_view kDescriptorSuffix = ".fd";

absl::string_view NameOf(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

// False when a socket address has no room for `path`.
bool SetPath(absl::string_view path, sockaddr_un& address) {
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::copy(path.begin(), path.end(), address.sun_path);
  return true;
}

bool Reach(const UniqueDescriptor& socket, const sockaddr_un& address) {
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

enum class Served { kNo, kYes, kUnknown };

// Whether somebody listens on a descriptor socket at `path`. Does not block.
Served IsServed(absl::string_view path) {
  sockaddr_un address = {};
  if (!SetPath(path, address)) return Served::kNo;
  const UniqueDescriptor probe(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Without a descriptor to look with, a file must do: the path is kept for as long as the lease.
  if (!probe.valid()) return access(address.sun_path, F_OK) == 0 ? Served::kYes : Served::kNo;
  if (Reach(probe, address) || errno == EAGAIN) return Served::kYes;  // there, perhaps busy
  // Access is checked before a listener is looked for: a file that is left is closed to this user
  // just as one that is served.
  return errno == EACCES ? Served::kUnknown : Served::kNo;
}

absl::StatusCode CodeOf(ErrorReason reason) {
  switch (reason) {
    case ErrorReason::kLeaseNotFound:
      return absl::StatusCode::kNotFound;
    case ErrorReason::kPermissionDenied:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kFailedPrecondition;
  }
}

// The server's "REASON message"; reasons that this build does not know keep the message.
absl::Status Refusal(absl::string_view text) {
  const size_t space = text.find(' ');
  v1::ErrorReason number;
  if (!v1::ErrorReason_Parse(absl::StrCat("ERROR_REASON_", text.substr(0, space)), &number)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server refused the descriptor: ", text.substr(0, 200)));
  }
  const auto reason = static_cast<ErrorReason>(number);
  return MakeError(CodeOf(reason), space == absl::string_view::npos ? text : text.substr(space + 1),
                   {.reason = reason, .field = "descriptor"});
}

absl::Status SendOnce(int connection, absl::string_view bytes, int descriptor) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  if (sendmsg(connection, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size())) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(std::strerror(errno));
}

}  // namespace

absl::Status CheckSocketFolder(const std::string& path, uid_t user) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  struct stat status = {};
  if (stat(folder.c_str(), &status) != 0) {
    return Unreachable(path, "its folder cannot be looked at", errno);
  }
  if (status.st_uid != user && status.st_uid != 0) {
    return Distrust(folder, absl::StrCat("belongs to user ", status.st_uid, ", not to ", user));
  }
  // Root's /run is writable by none but root; /tmp is by all, and whoever is first has the name.
  if ((status.st_mode & S_IWOTH) != 0) return Distrust(folder, "can be written by every user");
  return absl::OkStatus();
}

std::string DescriptorSocketPath(const std::string& target, const std::string& server_path) {
  absl::string_view dialled = target;
  if (!absl::ConsumePrefix(&dialled, "unix:")) return server_path;
  absl::ConsumePrefix(&dialled, "//");  // unix:///absolute
  const std::string beside = absl::StrCat(dialled, kDescriptorSuffix);
  if (NameOf(beside) != NameOf(server_path)) return server_path;
  // A server that was killed leaves its file.
  const Served served = IsServed(beside);
  const bool elsewhere = served == Served::kUnknown && IsServed(server_path) == Served::kYes;
  return served == Served::kNo || elsewhere ? server_path : beside;
}

namespace {

absl::StatusOr<UniqueDescriptor> Connect(const std::string& socket_path, absl::Duration timeout) {
  if (socket_path.empty()) {
    return MakeError(absl::StatusCode::kUnimplemented,
                     "the server listens on no Unix socket and takes no shared memory",
                     {.reason = ErrorReason::kNotInBuild, .field = "descriptor_socket_path"});
  }
  WINNOW_RETURN_IF_ERROR(CheckSocketFolder(socket_path, getuid()));
  sockaddr_un address = {};
  if (!SetPath(socket_path, address)) return Unreachable(socket_path, "connect", ENAMETOOLONG);
  UniqueDescriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!connection.valid()) return Unreachable(socket_path, "socket", errno);
  const timeval wait = absl::ToTimeval(std::max(timeout, absl::Milliseconds(1)));
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
  if (Reach(connection, address)) return connection;
  if (errno == EACCES) return ClosedToUser(socket_path);
  return Unreachable(socket_path, "connect", errno);
}

// One packet, never empty; the descriptor that came with it, if one did, goes to `descriptor`.
absl::StatusOr<std::string> Receive(int connection, const std::string& socket_path,
                                    UniqueDescriptor& descriptor) {
  char bytes[512];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t received = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  if (received < 0) return Unreachable(socket_path, "no answer", errno);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof(int));
    descriptor = UniqueDescriptor(number);
  }
  if (received == 0) return Unreachable(socket_path, "no answer", ECONNRESET);
  return std::string(bytes, static_cast<size_t>(received));
}

}  // namespace

absl::StatusOr<std::string> SendDescriptor(const std::string& socket_path,
                                           const std::string& lease_id, int descriptor,
                                           absl::Duration timeout) {
  WINNOW_ASSIGN_OR_RETURN(const UniqueDescriptor connection, Connect(socket_path, timeout));
  WINNOW_RETURN_IF_ERROR(SendOnce(connection.get(), lease_id, descriptor));
  UniqueDescriptor unasked;
  const auto answer = Receive(connection.get(), socket_path, unasked);
  if (!answer.ok()) return answer.status();
  const absl::string_view text = *answer;
  if (text.front() == 'T') return std::string(text.substr(1));
  return Refusal(text.substr(1));
}

absl::StatusOr<UniqueDescriptor> FetchDescriptor(const std::string& socket_path,
                                                 const std::string& lease_id,
                                                 const std::string& export_token,
                                                 absl::Duration timeout) {
  WINNOW_ASSIGN_OR_RETURN(const UniqueDescriptor connection, Connect(socket_path, timeout));
  const std::string ask = lease_id + export_token;
  if (send(connection.get(), ask.data(), ask.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(ask.size())) {
    return Unreachable(socket_path, "send", errno);
  }
  UniqueDescriptor fetched;
  const auto answer = Receive(connection.get(), socket_path, fetched);
  if (!answer.ok()) return answer.status();
  const absl::string_view text = *answer;
  if (text == "D" && fetched.valid()) return fetched;
  return Refusal(text.substr(1));
}

}  // namespace winnow::client
