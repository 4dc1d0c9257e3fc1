#include "server/app/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/app/listen_socket.h"
#include "server/resources/accept_connection.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// One request and its answer on a connection that does not block.
struct Connection {
  UniqueFd fd;
  const HttpListener* listener = nullptr;
  absl::Time deadline;
  std::string received;
  std::string answer;  // empty while the request is read
  size_t sent = 0;
};

class HttpServerImpl final : public HttpServer {
 public:
  explicit HttpServerImpl(HttpServerOptions options) : options_(std::move(options)) {}

  ~HttpServerImpl() override {
    if (thread_.joinable()) {
      const uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
      thread_.join();
    }
  }

  absl::Status Listen() {
    for (const HttpListener& listener : options_.listeners) {
      WINNOW_ASSIGN_OR_RETURN(ListenSocket socket, ListenSocket::Open({.address = listener.address,
                                                                       .flag = listener.flag}));
      addresses_.push_back(socket.address());
      sockets_.push_back(std::move(socket));
    }
    wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return wake_.valid() ? absl::OkStatus() : absl::ErrnoToStatus(errno, "cannot wait for events");
  }

  void Open(Handler handler) override {
    handler_ = std::move(handler);
    thread_ = std::thread([this] { Loop(); });
  }

  const std::vector<std::string>& addresses() const override { return addresses_; }

 private:
  void Loop() {
    std::vector<pollfd> files;
    while (true) {
      files.assign(1, {wake_.get(), POLLIN, 0});
      for (const ListenSocket& socket : sockets_) files.push_back({socket.fd(), POLLIN, 0});
      for (const Connection& connection : connections_) {
        files.push_back({connection.fd.get(),
                         static_cast<int16_t>(connection.answer.empty() ? POLLIN : POLLOUT), 0});
      }
      poll(files.data(), files.size(), connections_.empty() ? -1 : 250);
      if (files[0].revents != 0) return;
      const size_t first = 1 + sockets_.size();
      for (size_t i = first; i < files.size(); ++i) {
        if (files[i].revents != 0) Advance(connections_[i - first]);
      }
      DropFinished();
      for (size_t i = 0; i < sockets_.size(); ++i) {
        if (files[1 + i].revents != 0) Accept(i);
      }
    }
  }

  void Accept(size_t listener) {
    absl::StatusOr<UniqueFd> fd = AcceptConnection(sockets_[listener].fd());
    if (!fd.ok() || connections_.size() >= static_cast<size_t>(options_.max_connections)) return;
    connections_.push_back({.fd = *std::move(fd),
                            .listener = &options_.listeners[listener],
                            .deadline = absl::Now() + options_.request_timeout});
  }

  void Advance(Connection& connection) {
    if (connection.answer.empty()) Receive(connection);
    if (connection.answer.empty()) return;
    while (connection.sent < connection.answer.size()) {
      const ssize_t sent = send(connection.fd.get(), connection.answer.data() + connection.sent,
                                connection.answer.size() - connection.sent, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) return;
      if (sent <= 0) return connection.fd.Reset();
      connection.sent += static_cast<size_t>(sent);
    }
    connection.fd.Reset();
  }

  void Receive(Connection& connection) {
    char bytes[2048];
    const ssize_t taken = recv(connection.fd.get(), bytes, sizeof(bytes), 0);
    if (taken < 0 && errno == EAGAIN) return;
    if (taken <= 0) return connection.fd.Reset();
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

  void DropFinished() {
    const absl::Time now = absl::Now();
    std::erase_if(connections_, [now](const Connection& each) {
      return !each.fd.valid() || now >= each.deadline;
    });
  }

  const HttpServerOptions options_;
  Handler handler_;
  std::vector<ListenSocket> sockets_;
  std::vector<std::string> addresses_;
  UniqueFd wake_;
  std::vector<Connection> connections_;  // of the thread
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(HttpServerOptions options) {
  auto server = std::make_unique<HttpServerImpl>(std::move(options));
  WINNOW_RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace winnow::server
