// A Unix socket before another one, whose connections a test can cut: to the client the network
// broke, to the server the client went away, and both live on.

#ifndef WINNOW_TESTS_INTEGRATION_SOCKET_PROXY_H_
#define WINNOW_TESTS_INTEGRATION_SOCKET_PROXY_H_

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace winnow::testing {

class SocketProxy {
 public:
  // Listens at `path`; each connection goes on to the socket at `server_path`.
  SocketProxy(const std::string& path, std::string server_path);
  ~SocketProxy();
  SocketProxy(const SocketProxy&) = delete;
  SocketProxy& operator=(const SocketProxy&) = delete;

  // Cuts what is connected now; new connections are taken. Returns when it is done.
  void CutAll();

  // Whether bytes are passed on; while they are not, both sides find the other silent. In force
  // when it returns.
  void SetPassing(bool to_server, bool to_client);

 private:
  void Run();
  void Accept();
  // Has the thread do it, and returns when it is done.
  void Command(char command);
  // False when the pair is over.
  static bool Pump(int from, int to);

  const std::string server_path_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};                  // 'c': cut; 'w': look again; closed: end
  std::vector<std::pair<int, int>> pairs_;  // of the thread
  std::atomic<int> commands_done_{0};
  std::atomic<bool> to_server_{true};
  std::atomic<bool> to_client_{true};
  std::thread thread_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_SOCKET_PROXY_H_
