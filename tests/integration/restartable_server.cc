#include "tests/integration/restartable_server.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <utility>

namespace winnow::testing {

void RestartableServer::Start(std::vector<std::string> flags) {
  flags.push_back("--max-resume-grace=60s");
  process_ = std::make_unique<ServerProcess>(ServerProcess::Options{
      .flags = std::move(flags), .socket_path = folder_.Path("winnow.sock"), .tcp = false});
  ASSERT_TRUE(process_->running()) << process_->log();
}

void RestartableServer::Kill() {
  process_->Signal(SIGKILL);
  ASSERT_EQ(process_->AwaitExit(), 128 + SIGKILL);
}

void RestartableServer::Drain() {
  process_->Signal(SIGTERM);
  ASSERT_EQ(process_->AwaitExit(), 0) << process_->log();
}

void RestartableServer::Hang() {
  process_->Signal(SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(process_->pid(), &status, WUNTRACED), process_->pid());
  ASSERT_TRUE(WIFSTOPPED(status));
}

void RestartableServer::GoOn() { process_->Signal(SIGCONT); }

client::Client RestartableServer::Connect(bool streaming) const {
  return *client::Client::Create({.target = "unix:" + folder_.Path("winnow.sock"),
                                  .timeout = absl::Seconds(60),
                                  .streaming = streaming});
}

std::function<void(const client::LeaseEvent&)> LeaseEventLog::Listener() {
  return [this](const client::LeaseEvent& event) {
    absl::MutexLock lock(&mu_);
    events_.push_back(event);
  };
}

std::optional<client::LeaseEvent> LeaseEventLog::Await(client::LeaseEventKind kind, int count) {
  absl::MutexLock lock(&mu_);
  std::optional<client::LeaseEvent> found;
  const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    int seen = 0;
    for (const client::LeaseEvent& event : events_) {
      if (event.kind == kind && ++seen == count) found = event;
    }
    return found.has_value();
  };
  mu_.AwaitWithTimeout(absl::Condition(&there), absl::Seconds(30));
  return found;
}

}  // namespace winnow::testing
