// A winnow-server of its own, as a process on a Unix socket and on loopback TCP, for one test. Its
// backend is TestBackend() of test_programs.h.

#ifndef WINNOW_TESTS_INTEGRATION_SERVER_PROCESS_H_
#define WINNOW_TESTS_INTEGRATION_SERVER_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "winnow/v1/admin_service.grpc.pb.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::testing {

// A folder under /tmp that is removed with all it holds.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class ServerProcess {
 public:
  struct Options {
    std::vector<std::string> flags;          // besides --backend and the listeners
    std::optional<std::string> socket_path;  // default: in a folder of its own
    bool tcp = true;
  };

  ServerProcess() : ServerProcess(Options()) {}
  // Returns when the server is ready or has ended. Check running().
  explicit ServerProcess(Options options);
  // Kills it if it still runs.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  bool running();
  pid_t pid() const { return pid_; }
  std::string unix_target() const { return "unix:" + socket_path_; }
  const std::string& socket_path() const { return socket_path_; }
  std::string tcp_target() const;
  // All that it wrote to standard error so far.
  std::string log() const;
  int64_t resident_kib() const;
  // What all its threads have used since the start.
  absl::Duration processor_time() const;
  // From fork to the ready line.
  absl::Duration start_duration() const { return start_duration_; }

  void Signal(int signal);
  // Waits for the end; the exit code, 128 + signal when one ended it, or -1 when it still runs
  // after `patience`.
  int AwaitExit(absl::Duration patience = absl::Seconds(60));

  std::shared_ptr<grpc::Channel> Connect(const std::string& target) const;
  std::unique_ptr<v1::IndexerService::Stub> Indexer() const;
  std::unique_ptr<v1::AdminService::Stub> Admin() const;

 private:
  void Spawn(const std::vector<std::string>& arguments);
  void AwaitReady();

  TempFolder folder_;
  std::string socket_path_, log_path_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
  absl::Duration start_duration_;
};

// A context that gives up after a time that no healthy call takes.
std::unique_ptr<grpc::ClientContext> Patient();

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_SERVER_PROCESS_H_
