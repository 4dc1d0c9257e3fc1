#include "client/cli/demo/child_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/failure.h"
#include "client/cli/file_writer.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

constexpr absl::Duration kStartPatience = absl::Seconds(10);
constexpr absl::Duration kEndPatience = absl::Seconds(2);
constexpr absl::Duration kStopPatience = absl::Seconds(5);
constexpr absl::Duration kPollInterval = absl::Milliseconds(2);

bool Accepts(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return false;
  const bool accepts =
      connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(connection);
  return accepts;
}

std::string LastLine(const std::string& path) {
  std::ifstream log(path);
  std::string last;
  for (std::string line; std::getline(log, line);) {
    if (!line.empty()) last = line;
  }
  return last.empty() ? "it logged nothing" : OneLine(last.substr(0, 400));
}

// In the child, between fork and exec: only what is safe there.
[[noreturn]] void BecomeServer(pid_t parent, char* const* arguments, int log, int failure) {
  // The child must not outlive its parent, however that ends.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  setpgid(0, 0);  // the terminal's Ctrl-C ends the parent, and that ends the child
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  execv(arguments[0], arguments);
  // The other end is closed by a successful exec, so that the parent learns why there was none.
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(failure, &error, sizeof(error));
  _exit(127);
}

// What kept `BecomeServer` from running the program; 0 when it runs.
int AwaitExec(int failure) {
  int error = 0;
  ssize_t taken = 0;
  do {
    taken = read(failure, &error, sizeof(error));
  } while (taken < 0 && errno == EINTR);
  return taken == sizeof(error) ? error : 0;
}

// What the handler of an ending signal needs; set while there is a child.
constexpr int kFilesToRemove = 3;
char files_to_remove[kFilesToRemove][128];
char directory_to_remove[128];
volatile sig_atomic_t child_to_end = 0;

// Only what is safe in a handler. The child serves nobody else, so it is ended at once.
void RemoveFilesAndEnd(int signal_number) {
  if (child_to_end > 0) {
    kill(child_to_end, SIGKILL);
    waitpid(child_to_end, nullptr, 0);
  }
  for (const char* file : files_to_remove) unlink(file);
  rmdir(directory_to_remove);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

template <size_t kSize>
void CopyPath(const std::string& path, char (&copy)[kSize]) {
  strncpy(copy, path.c_str(), kSize - 1);
}

void HandleSignals(void (*handler)(int)) {
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) signal(signal_number, handler);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildServer>> ChildServer::Start(const std::string& program,
                                                                const std::string& backend) {
  // Not $TMPDIR: a socket's path may have 107 characters.
  char directory[] = "/tmp/winnow-demo-XXXXXX";
  if (mkdtemp(directory) == nullptr) {
    return absl::InternalError(absl::StrCat("/tmp: no directory can be made: ", strerror(errno)));
  }
  std::unique_ptr<ChildServer> server(new ChildServer(directory));
  WINNOW_RETURN_IF_ERROR(server->Spawn(program, backend));
  WINNOW_RETURN_IF_ERROR(server->AwaitReady());
  return server;
}

absl::Status ChildServer::Spawn(const std::string& program, const std::string& backend) {
  const int log = open(LogPath().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return absl::InternalError(absl::StrCat(LogPath(), ": ", strerror(errno)));
  std::vector<std::string> words = {program, absl::StrCat("--listen=", target()),
                                    absl::StrCat("--backend=", backend)};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  CopyPath(SocketPath(), files_to_remove[0]);
  CopyPath(absl::StrCat(SocketPath(), ".lock"), files_to_remove[1]);  // the server's own
  CopyPath(LogPath(), files_to_remove[2]);
  CopyPath(directory_, directory_to_remove);
  HandleSignals(RemoveFilesAndEnd);
  int failure[2] = {-1, -1};
  const bool piped = pipe2(failure, O_CLOEXEC) == 0;
  const pid_t parent = getpid();
  process_id_ = piped ? fork() : -1;
  if (process_id_ == 0) {
    HandleSignals(SIG_DFL);
    BecomeServer(parent, arguments.data(), log, failure[1]);
  }
  const int fork_error = errno;
  child_to_end = process_id_;
  close(log);
  if (piped) close(failure[1]);
  const int exec_error = process_id_ > 0 ? AwaitExec(failure[0]) : 0;
  if (piped) close(failure[0]);
  if (exec_error != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(ShowPath(program), ": cannot be run: ", strerror(exec_error)));
  }
  if (process_id_ > 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("no process can be made: ", strerror(fork_error)));
}

absl::Status ChildServer::AwaitReady() {
  const absl::Time give_up = absl::Now() + kStartPatience;
  while (absl::Now() < give_up) {
    if (Ended()) return EndedAtOnce();
    if (Accepts(SocketPath())) return absl::OkStatus();
    absl::SleepFor(kPollInterval);
  }
  return absl::InternalError(absl::StrCat("winnow-server was not ready after ",
                                          absl::FormatDuration(kStartPatience), ": ",
                                          LastLine(LogPath())));
}

absl::Status ChildServer::Explain(absl::Status failure) {
  const absl::Time give_up = absl::Now() + kEndPatience;
  while (absl::Now() < give_up) {
    if (Ended()) return EndedAtOnce();
    absl::SleepFor(kPollInterval);
  }
  return failure;
}

absl::Status ChildServer::EndedAtOnce() const {
  return absl::InternalError(absl::StrCat("winnow-server ended at once: ", LastLine(LogPath())));
}

bool ChildServer::Ended() {
  if (process_id_ <= 0) return true;
  if (waitpid(process_id_, nullptr, WNOHANG) != process_id_) return false;
  process_id_ = -1;
  child_to_end = 0;
  return true;
}

ChildServer::~ChildServer() {
  if (process_id_ > 0) kill(process_id_, SIGTERM);
  const absl::Time give_up = absl::Now() + kStopPatience;
  while (!Ended() && absl::Now() < give_up) absl::SleepFor(kPollInterval);
  if (process_id_ > 0) {
    kill(process_id_, SIGKILL);
    waitpid(process_id_, nullptr, 0);
  }
  HandleSignals(SIG_DFL);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string ChildServer::target() const { return absl::StrCat("unix:", SocketPath()); }

}  // namespace winnow::cli
