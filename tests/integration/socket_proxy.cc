#include "tests/integration/socket_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace winnow::testing {
namespace {

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

}  // namespace

SocketProxy::SocketProxy(const std::string& path, std::string server_path)
    : server_path_(std::move(server_path)) {
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = AddressOf(path);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener_, 16) != 0 || pipe(wake_) != 0) {
    abort();
  }
  thread_ = std::thread([this] { Run(); });
}

SocketProxy::~SocketProxy() {
  close(wake_[1]);
  thread_.join();
  close(wake_[0]);
  close(listener_);
}

void SocketProxy::Command(char command) {
  const int before = commands_done_;
  if (write(wake_[1], &command, 1) != 1) abort();
  while (commands_done_ == before) usleep(1000);
}

void SocketProxy::CutAll() { Command('c'); }

void SocketProxy::SetPassing(bool to_server, bool to_client) {
  to_server_ = to_server;
  to_client_ = to_client;
  Command('w');
}

void SocketProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = AddressOf(server_path_);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(client);
    close(server);
    return;
  }
  pairs_.emplace_back(client, server);
}

bool SocketProxy::Pump(int from, int to) {
  char bytes[65536];
  const ssize_t count = read(from, bytes, sizeof(bytes));
  if (count <= 0) return false;
  for (ssize_t done = 0; done < count;) {
    const ssize_t sent = send(to, bytes + done, static_cast<size_t>(count - done), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    done += sent;
  }
  return true;
}

void SocketProxy::Run() {
  const auto close_all = [this] {
    for (const auto& [client, server] : pairs_) {
      close(client);
      close(server);
    }
    pairs_.clear();
  };
  while (true) {
    std::vector<pollfd> waits = {{.fd = wake_[0], .events = POLLIN},
                                 {.fd = listener_, .events = POLLIN}};
    for (const auto& [client, server] : pairs_) {
      // A negative descriptor is not looked at.
      waits.push_back({.fd = to_server_ ? client : -1, .events = POLLIN});
      waits.push_back({.fd = to_client_ ? server : -1, .events = POLLIN});
    }
    if (poll(waits.data(), waits.size(), -1) < 0) continue;
    std::vector<std::pair<int, int>> open;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const auto [client, server] = pairs_[i];
      const bool good = (waits[2 + 2 * i].revents == 0 || Pump(client, server)) &&
                        (waits[3 + 2 * i].revents == 0 || Pump(server, client));
      if (good) {
        open.emplace_back(client, server);
      } else {
        close(client);
        close(server);
      }
    }
    pairs_ = std::move(open);
    if (waits[1].revents != 0) Accept();
    if (waits[0].revents == 0) continue;
    char command = 0;
    const bool ending = read(wake_[0], &command, 1) != 1;
    if (ending || command == 'c') close_all();
    ++commands_done_;
    if (ending) return;
  }
}

}  // namespace winnow::testing
