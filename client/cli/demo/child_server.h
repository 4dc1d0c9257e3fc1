// A server for the length of a demo.

#ifndef WINNOW_CLIENT_CLI_DEMO_CHILD_SERVER_H_
#define WINNOW_CLIENT_CLI_DEMO_CHILD_SERVER_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace winnow::cli {

// A winnow-server process on a Unix socket in a directory that only this user may enter. It ends
// with this object, or when this process dies in any way. SIGINT, SIGTERM and SIGHUP also remove
// the directory, of the server that was started last.
class ChildServer {
 public:
  // Starts `program` with `backend` ("cpu") and waits until its socket accepts, 10 seconds at most.
  // InvalidArgument if the program cannot be run. Internal if it does not come up; the message has
  // the last line of what it logged.
  static absl::StatusOr<std::unique_ptr<ChildServer>> Start(const std::string& program,
                                                            const std::string& backend);

  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;
  // Asks it to end, waits 5 seconds, then ends it. Removes the directory.
  ~ChildServer();

  // Why the first call to it failed: a server that does not find its device accepts connections for
  // a moment before it ends, and then its last line says more than `failure`. Blocks for up to two
  // seconds.
  absl::Status Explain(absl::Status failure);

  std::string target() const;  // "unix:PATH"
  pid_t process_id() const { return process_id_; }

 private:
  explicit ChildServer(std::string directory) : directory_(std::move(directory)) {}

  std::string SocketPath() const { return directory_ + "/winnow.sock"; }
  std::string LogPath() const { return directory_ + "/server.log"; }
  absl::Status Spawn(const std::string& program, const std::string& backend);
  absl::Status AwaitReady();
  absl::Status EndedAtOnce() const;
  bool Ended();  // whether the process has; reaps it

  std::string directory_;
  pid_t process_id_ = -1;  // -1: none, or reaped
};

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEMO_CHILD_SERVER_H_
