#include "tests/integration/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "grpcpp/create_channel.h"
#include "tests/integration/test_programs.h"

namespace winnow::testing {
namespace {

constexpr char kReady[] = "event=\"server ready\"";
constexpr absl::Duration kStartPatience = absl::Seconds(30);

}  // namespace

TempFolder::TempFolder() {
  char path[] = "/tmp/winnow_integration.XXXXXX";
  if (mkdtemp(path) == nullptr) abort();
  path_ = path;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ServerProcess::ServerProcess(Options options)
    : socket_path_(options.socket_path.value_or(folder_.Path("winnow.sock"))),
      log_path_(folder_.Path("log")) {
  std::vector<std::string> arguments = {ProgramPath(WINNOW_SERVER_PROGRAM),
                                        absl::StrCat("--backend=", TestBackend()),
                                        absl::StrCat("--listen=unix:", socket_path_)};
  if (options.tcp) arguments.push_back("--listen=127.0.0.1:0");
  arguments.insert(arguments.end(), options.flags.begin(), options.flags.end());
  const absl::Time begin = absl::Now();
  Spawn(arguments);
  AwaitReady();
  start_duration_ = absl::Now() - begin;
}

ServerProcess::~ServerProcess() {
  if (!running()) return;
  Signal(SIGKILL);
  AwaitExit();
}

void ServerProcess::Spawn(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int log = open(log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(log, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(log);
}

void ServerProcess::AwaitReady() {
  const absl::Time deadline = absl::Now() + kStartPatience;
  while (running() && absl::Now() < deadline && log().find(kReady) == std::string::npos) {
    absl::SleepFor(absl::Milliseconds(1));
  }
}

bool ServerProcess::running() { return AwaitExit(absl::ZeroDuration()) == -1; }

std::string ServerProcess::log() const {
  std::ifstream file(log_path_);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string ServerProcess::tcp_target() const {
  const std::string text = log();
  const size_t begin = text.find("127.0.0.1:");
  return text.substr(begin, text.find_first_of(" ,\n\"", begin) - begin);
}

absl::Duration ServerProcess::processor_time() const {
  clockid_t clock;
  timespec used{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    return absl::InfiniteDuration();
  }
  return absl::DurationFromTimespec(used);
}

int64_t ServerProcess::resident_kib() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/status"));
  std::string word;
  int64_t kib = 0;
  while (file >> word) {
    if (word == "VmRSS:" && file >> kib) return kib;
  }
  return 0;
}

void ServerProcess::Signal(int signal) { kill(pid_, signal); }

int ServerProcess::AwaitExit(absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  while (!exit_code_.has_value()) {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (absl::Now() >= deadline) {
      return -1;
    } else {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  return *exit_code_;
}

std::shared_ptr<grpc::Channel> ServerProcess::Connect(const std::string& target) const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  // Channels with equal arguments would share one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

std::unique_ptr<v1::IndexerService::Stub> ServerProcess::Indexer() const {
  return v1::IndexerService::NewStub(Connect(unix_target()));
}

std::unique_ptr<v1::AdminService::Stub> ServerProcess::Admin() const {
  return v1::AdminService::NewStub(Connect(unix_target()));
}

std::unique_ptr<grpc::ClientContext> Patient() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  return context;
}

}  // namespace winnow::testing
