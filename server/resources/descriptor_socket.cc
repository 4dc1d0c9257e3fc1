#include "server/resources/descriptor_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/resources/accept_connection.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr size_t kLeaseIdBytes = 32;
constexpr size_t kTokenBytes = 32;
constexpr size_t kMaxPacketBytes = 512;
// One descriptor is wanted; room for more, so that those of a hostile packet are received and
// closed rather than cut off.
constexpr size_t kMaxDescriptors = 8;

absl::Status SocketError(absl::string_view path, absl::string_view what) {
  return MakeError(absl::StatusCode::kUnavailable,
                   absl::StrCat("descriptor socket ", path, ": ", what, ": ", std::strerror(errno)),
                   {.reason = ErrorReason::kInternal, .field = "--listen"});
}

// Of a server that was killed; the listener beside it, which the server holds, proves that none
// lives. Another file of that name is not ours to remove.
void RemoveStaleSocket(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) unlink(path.c_str());
}

absl::Status NoSocket(absl::string_view path) {
  return MakeError(absl::StatusCode::kUnavailable,
                   absl::StrCat("the socket ", path,
                                ", beside --listen, cannot be made: something that is no socket "
                                "has its name; remove that or choose another --listen"),
                   {.reason = ErrorReason::kResourceBusy, .field = "--listen"});
}

absl::StatusOr<sockaddr_un> AddressOf(absl::string_view path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat("the socket beside --listen has a path of ", path.size(),
                                  " bytes; a socket path has 1 to ", sizeof(address.sun_path) - 1),
                     {.reason = ErrorReason::kValueOutOfRange,
                      .field = "--listen",
                      .value = absl::StrCat(path.size()),
                      .limit = absl::StrCat("1 to ", sizeof(address.sun_path) - 1)});
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

struct Packet {
  std::string bytes;
  std::vector<UniqueFd> descriptors;
  bool truncated = false;
};

// nullopt-like: an empty packet without error means that the peer closed.
absl::StatusOr<Packet> Receive(int connection) {
  char bytes[kMaxPacketBytes];
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t received = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (received < 0) return absl::ErrnoToStatus(errno, "receive");
  Packet packet;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < count; ++index) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + index * sizeof(int), sizeof(int));
      packet.descriptors.emplace_back(descriptor);
    }
  }
  packet.bytes.assign(bytes, static_cast<size_t>(received));
  packet.truncated = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  return packet;
}

std::string Refusal(const absl::Status& status) {
  const auto info = GetErrorInfo(status);
  return absl::StrCat("E", Name(info.has_value() ? info->reason : ErrorReason::kInternal), " ",
                      status.message());
}

absl::Status SendWithDescriptor(int connection, absl::string_view bytes, int descriptor) {
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
  if (sendmsg(connection, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    return absl::ErrnoToStatus(errno, "send");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DescriptorSocket>> DescriptorSocket::Listen(Options options,
                                                                           DescriptorInbox* inbox,
                                                                           LeaseCheck check) {
  WINNOW_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(options.path));
  UniqueFd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.valid()) return SocketError(options.path, "socket");
  RemoveStaleSocket(options.path);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == EADDRINUSE) return NoSocket(options.path);
    return SocketError(options.path, "bind");
  }
  const auto refuse = [&options](absl::string_view what) {
    const absl::Status status = SocketError(options.path, what);
    unlink(options.path.c_str());
    return status;
  };
  if (chmod(options.path.c_str(), options.mode) != 0) return refuse("chmod");
  if (options.group.has_value() &&
      chown(options.path.c_str(), static_cast<uid_t>(-1), *options.group) != 0) {
    return refuse("give it to --socket-group");
  }
  if (listen(listener.get(), 16) != 0) return refuse("listen");
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return refuse("pipe");
  return std::unique_ptr<DescriptorSocket>(
      new DescriptorSocket(std::move(options), inbox, std::move(check), std::move(listener),
                           UniqueFd(ends[0]), UniqueFd(ends[1])));
}

DescriptorSocket::DescriptorSocket(Options options, DescriptorInbox* inbox, LeaseCheck check,
                                   UniqueFd listener, UniqueFd wake_reader, UniqueFd wake_writer)
    : options_(std::move(options)),
      inbox_(inbox),
      check_(std::move(check)),
      listener_(std::move(listener)),
      wake_reader_(std::move(wake_reader)),
      wake_writer_(std::move(wake_writer)),
      thread_([this] { Run(); }) {}

DescriptorSocket::~DescriptorSocket() {
  wake_writer_.Reset();
  thread_.join();
  unlink(options_.path.c_str());
}

void DescriptorSocket::Run() {
  while (true) {
    std::vector<pollfd> waits = {{.fd = wake_reader_.get(), .events = POLLIN}};
    waits.push_back({.fd = listener_.get(), .events = POLLIN});
    for (const UniqueFd& connection : connections_) {
      waits.push_back({.fd = connection.get(), .events = POLLIN});
    }
    if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    std::vector<UniqueFd> open;
    for (size_t index = 0; index < connections_.size(); ++index) {
      if (waits[index + 2].revents != 0 && !Serve(connections_[index].get())) continue;
      open.push_back(std::move(connections_[index]));
    }
    connections_ = std::move(open);
    if (waits[1].revents != 0) Accept();
  }
}

void DescriptorSocket::Accept() {
  absl::StatusOr<UniqueFd> connection = AcceptConnection(listener_.get());
  if (!connection.ok()) return;
  connections_.push_back(*std::move(connection));
  if (static_cast<int>(connections_.size()) > options_.max_connections) {
    connections_.erase(connections_.begin());
  }
}

bool DescriptorSocket::Serve(int connection) {
  absl::StatusOr<Packet> packet = Receive(connection);
  if (!packet.ok()) return packet.status().code() == absl::StatusCode::kUnavailable;  // EAGAIN
  const bool gives = packet->bytes.size() == kLeaseIdBytes && packet->descriptors.size() == 1;
  const bool fetches =
      packet->bytes.size() == kLeaseIdBytes + kTokenBytes && packet->descriptors.empty();
  if (packet->truncated || (!gives && !fetches)) return false;
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  const absl::string_view lease_id = absl::string_view(packet->bytes).substr(0, kLeaseIdBytes);
  const absl::Status allowed = check_(lease_id, peer.uid);
  std::string answer;
  UniqueFd fetched;
  if (!allowed.ok()) {
    answer = Refusal(allowed);
  } else if (gives) {
    auto token = inbox_->Put(lease_id, std::move(packet->descriptors.front()));
    answer = token.ok() ? absl::StrCat("T", *token) : Refusal(token.status());
  } else {
    auto taken = inbox_->Take(lease_id, absl::string_view(packet->bytes).substr(kLeaseIdBytes));
    answer = taken.ok() ? "D" : Refusal(taken.status());
    if (taken.ok()) fetched = *std::move(taken);
  }
  // A peer that does not read its answers loses the connection rather than holding up the others.
  if (fetched.valid()) return SendWithDescriptor(connection, answer, fetched.get()).ok();
  return send(connection, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(answer.size());
}

}  // namespace winnow::server
