#include "server/app/connection_gate.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "server/base/logging.h"
#include "server/resources/accept_connection.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr absl::Duration kWarningPeriod = absl::Seconds(10);

// gRPC does not say when it closes a connection. A socket's inode is its own, so that a descriptor
// that means another file, or none, tells it.
struct Adopted {
  int fd = -1;
  ino_t inode = 0;
};

ino_t InodeOf(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

class ConnectionGateImpl final : public ConnectionGate {
 public:
  ConnectionGateImpl(ConnectionGateOptions options, MetricsRegistry& metrics)
      : options_(std::move(options)),
        user_refused_(Refused("user", metrics)),
        full_refused_(Refused("too_many", metrics)),
        accepted_(metrics.AddCounter("winnow_connections_total", "Connections accepted.")) {}

  ~ConnectionGateImpl() override { Close(); }

  absl::Status Listen() {
    for (const GateListener& listener : options_.listeners) {
      WINNOW_ASSIGN_OR_RETURN(ListenSocket socket, ListenSocket::Open(listener.socket));
      addresses_.push_back(socket.address());
      sockets_.push_back(std::move(socket));
    }
    wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return wake_.valid() ? absl::OkStatus() : absl::ErrnoToStatus(errno, "cannot wait for events");
  }

  const std::vector<std::string>& addresses() const override { return addresses_; }

  void Open(Adopt adopt) override {
    adopt_ = std::move(adopt);
    thread_ = std::thread([this] { Loop(); });
  }

  void Close() override {
    if (thread_.joinable()) {
      const uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
      thread_.join();
    }
    sockets_.clear();
  }

  void CutConnections() override {
    DropClosed();
    if (adopted_.empty()) return;
    Log(LogLevel::kWarning, "connections cut",
        {{"why", "their peers do not read"}, {"count", static_cast<int64_t>(adopted_.size())}});
    for (const Adopted& each : adopted_) {
      // Its owner may close it meanwhile, and the number be another file's: our own stays.
      const UniqueFd own(fcntl(each.fd, F_DUPFD_CLOEXEC, 0));
      if (own.valid() && InodeOf(own.get()) == each.inode) shutdown(own.get(), SHUT_RDWR);
    }
  }

 private:
  static Counter* Refused(const char* why, MetricsRegistry& metrics) {
    return metrics.AddCounter("winnow_refused_connections_total", "Connections refused, by why.",
                              {{"why", why}});
  }

  void Loop() {
    std::vector<pollfd> files(1, {wake_.get(), POLLIN, 0});
    for (const ListenSocket& socket : sockets_) files.push_back({socket.fd(), POLLIN, 0});
    while (true) {
      poll(files.data(), files.size(), -1);
      if (files[0].revents != 0) return;
      for (size_t i = 0; i < sockets_.size(); ++i) {
        if (files[1 + i].revents != 0) Accept(i);
      }
    }
  }

  void Accept(size_t index) {
    absl::StatusOr<UniqueFd> accepted = AcceptConnection(sockets_[index].fd());
    if (absl::IsResourceExhausted(accepted.status())) Warn("no descriptors left");
    if (!accepted.ok() || !MayConnect(index, accepted->get())) return;
    const int fd = accepted->Release();
    if (!sockets_[index].is_unix()) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    adopted_.push_back({.fd = fd, .inode = InodeOf(fd)});
    accepted_->Add();
    adopt_(fd, options_.listeners[index].kind);
  }

  bool MayConnect(size_t index, int fd) {
    // The mode of its socket says who the administrator is; a full server must let him in.
    if (options_.listeners[index].kind == ConnectionKind::kAdmin) return true;
    if (sockets_[index].is_unix() && !PeerAllowed(fd)) {
      user_refused_->Add();
      Warn("its user is not in allow-uids");
      return false;
    }
    if (adopted_.size() >= static_cast<size_t>(options_.max_connections)) DropClosed();
    if (adopted_.size() < static_cast<size_t>(options_.max_connections)) return true;
    full_refused_->Add();
    Warn("max-connections are open");
    return false;
  }

  bool PeerAllowed(int fd) const {
    ucred peer{};
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           UserAllowed(options_.allowed_uids, peer.uid);
  }

  void DropClosed() {
    std::erase_if(adopted_, [](const Adopted& each) { return InodeOf(each.fd) != each.inode; });
  }

  // Who is refused may try without end; the log does not follow.
  void Warn(absl::string_view why) {
    ++unreported_;
    const absl::Time now = absl::Now();
    if (now - last_warning_ < kWarningPeriod) return;
    Log(LogLevel::kWarning, "connection refused", {{"why", why}, {"count", unreported_}});
    last_warning_ = now;
    unreported_ = 0;
  }

  const ConnectionGateOptions options_;
  Counter* const user_refused_;
  Counter* const full_refused_;
  Counter* const accepted_;
  Adopt adopt_;
  std::vector<ListenSocket> sockets_;
  std::vector<std::string> addresses_;
  UniqueFd wake_;
  // Of the thread while there is one.
  std::vector<Adopted> adopted_;
  absl::Time last_warning_ = absl::InfinitePast();
  int64_t unreported_ = 0;
  std::thread thread_;
};

}  // namespace

bool UserAllowed(const std::vector<uid_t>& allowed, uid_t uid) {
  return allowed.empty() || uid == getuid() ||
         std::find(allowed.begin(), allowed.end(), uid) != allowed.end();
}

absl::StatusOr<std::unique_ptr<ConnectionGate>> ConnectionGate::Listen(
    ConnectionGateOptions options, MetricsRegistry& metrics) {
  auto gate = std::make_unique<ConnectionGateImpl>(std::move(options), metrics);
  WINNOW_RETURN_IF_ERROR(gate->Listen());
  return gate;
}

}  // namespace winnow::server
