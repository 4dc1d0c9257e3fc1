#include "server/app/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/app/listen_socket.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// One request and its answer on a connection that does not block.
struct Connection {
  int fd = -1;
  const HttpListener* listener = nullptr;
  absl::Time deadline;
  std::string received;
  std::string answer;  // empty while the request is read
  size_t sent = 0;
};

class HttpServerImpl final : public HttpServer {
 public:
  HttpServerImpl(HttpServerOptions options, Handler handler)
      : options_(std::move(options)), handler_(std::move(handler)) {}

  ~HttpServerImpl() override {
    if (thread_.joinable()) {
      const uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof(one));
      thread_.join();
    }
    for (const Connection& connection : connections_) close(connection.fd);
    for (const int fd : listen_fds_) close(fd);
    for (const std::string& address : addresses_) {
      if (absl::StartsWith(address, "unix:")) unlink(address.c_str() + 5);
    }
    if (wake_fd_ >= 0) close(wake_fd_);
  }

  absl::Status Open() {
    for (const HttpListener& listener : options_.listeners) {
      WINNOW_ASSIGN_OR_RETURN(const ListenSocket socket,
                              OpenListenSocket({.address = listener.address}));
      listen_fds_.push_back(socket.fd);
      addresses_.push_back(socket.address);
    }
    wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd_ < 0) return absl::ErrnoToStatus(errno, "cannot wait for events");
    thread_ = std::thread([this] { Loop(); });
    return absl::OkStatus();
  }

  const std::vector<std::string>& addresses() const override { return addresses_; }

 private:
  void Loop() {
    std::vector<pollfd> files;
    while (true) {
      files.assign(1, {wake_fd_, POLLIN, 0});
      for (const int fd : listen_fds_) files.push_back({fd, POLLIN, 0});
      for (const Connection& connection : connections_) {
        files.push_back(
            {connection.fd, static_cast<int16_t>(connection.answer.empty() ? POLLIN : POLLOUT), 0});
      }
      poll(files.data(), files.size(), connections_.empty() ? -1 : 250);
      if (files[0].revents != 0) return;
      const size_t first = 1 + listen_fds_.size();
      for (size_t i = first; i < files.size(); ++i) {
        if (files[i].revents != 0) Advance(connections_[i - first]);
      }
      DropFinished();
      for (size_t i = 0; i < listen_fds_.size(); ++i) {
        if (files[1 + i].revents != 0) Accept(i);
      }
    }
  }

  void Accept(size_t listener) {
    const int fd = accept4(listen_fds_[listener], nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (connections_.size() >= static_cast<size_t>(options_.max_connections)) {
      close(fd);
      return;
    }
    connections_.push_back({.fd = fd,
                            .listener = &options_.listeners[listener],
                            .deadline = absl::Now() + options_.request_timeout});
  }

  void Advance(Connection& connection) {
    if (connection.answer.empty()) Receive(connection);
    if (connection.answer.empty()) return;
    while (connection.sent < connection.answer.size()) {
      const ssize_t sent = send(connection.fd, connection.answer.data() + connection.sent,
                                connection.answer.size() - connection.sent, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) return;
      if (sent <= 0) return Close(connection);
      connection.sent += static_cast<size_t>(sent);
    }
    Close(connection);
  }

  void Receive(Connection& connection) {
    char bytes[2048];
    const ssize_t taken = recv(connection.fd, bytes, sizeof(bytes), 0);
    if (taken < 0 && errno == EAGAIN) return;
    if (taken <= 0) return Close(connection);
    connection.received.append(bytes, static_cast<size_t>(taken));
    const std::optional<size_t> end = HttpHeadEnd(connection.received);
    if (end.has_value()) {
      connection.answer = Answer(connection, *end);
    } else if (connection.received.size() > kMaxHttpHeadBytes) {
      connection.answer =
          EncodeHttpResponse({.status = 431, .body = "the request is too long\n"}, false);
    }
  }

  std::string Answer(const Connection& connection, size_t head_end) const {
    HttpResponse response;
    const std::optional<HttpRequest> request =
        ParseHttpHead(absl::string_view(connection.received).substr(0, head_end), response);
    if (!request.has_value()) return EncodeHttpResponse(response, false);
    const HttpListener& listener = *connection.listener;
    const bool any_host = listener.exposed || absl::StartsWith(listener.address, "unix:");
    if (!any_host && !IsLoopbackHost(request->host)) {
      response = {.status = 403, .body = "this address is called by the name of this machine\n"};
    } else {
      response = handler_(*request, listener.exposed);
    }
    return EncodeHttpResponse(response, request->head_only);
  }

  static void Close(Connection& connection) {
    close(connection.fd);
    connection.fd = -1;
  }

  void DropFinished() {
    const absl::Time now = absl::Now();
    for (Connection& connection : connections_) {
      if (connection.fd >= 0 && now >= connection.deadline) Close(connection);
    }
    connections_.erase(std::remove_if(connections_.begin(), connections_.end(),
                                      [](const Connection& each) { return each.fd < 0; }),
                       connections_.end());
  }

  const HttpServerOptions options_;
  const Handler handler_;
  std::vector<int> listen_fds_;
  std::vector<std::string> addresses_;
  int wake_fd_ = -1;
  std::vector<Connection> connections_;  // of the thread
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options,
                                                              Handler handler) {
  auto server = std::make_unique<HttpServerImpl>(std::move(options), std::move(handler));
  WINNOW_RETURN_IF_ERROR(server->Open());
  return server;
}

}  // namespace winnow::server
