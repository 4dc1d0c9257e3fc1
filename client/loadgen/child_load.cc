#include "client/loadgen/child_load.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "absl/time/time.h"

namespace winnow::stress {
namespace {

// In the child, of a process that has threads: nothing but what signal handlers may call.
[[noreturn]] void Become(char* const* words, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it ended before the line above
  const int nowhere = open("/dev/null", O_RDWR);
  for (int descriptor = 0; descriptor <= 2; ++descriptor) dup2(nowhere, descriptor);
  execv("/proc/self/exe", words);
  _exit(127);
}

void Reap(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace

// The thread starts the children, because they end with the thread that made them.
ChildLoad::ChildLoad(std::vector<std::string> arguments, Torment torment, uint64_t seed)
    : arguments_(std::move(arguments)),
      torment_(torment),
      random_(seed),
      thread_([this] { Run(); }) {}

ChildLoad::~ChildLoad() {
  {
    absl::MutexLock lock(&mu_);
    stop_ = true;
  }
  thread_.join();
}

ChildLoad::Counts ChildLoad::counts() const {
  absl::MutexLock lock(&mu_);
  return counts_;
}

void ChildLoad::Spawn() {
  std::vector<std::string> words = arguments_;
  words.insert(words.begin(), "winnow-stress");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t self = getpid();
  child_ = fork();
  if (child_ == 0) Become(pointers.data(), self);
}

bool ChildLoad::Wait(int64_t low_millis, int64_t high_millis) {
  const auto span = static_cast<uint64_t>(high_millis - low_millis);
  const int64_t millis = low_millis + static_cast<int64_t>(random_() % span);
  absl::MutexLock lock(&mu_);
  return !mu_.AwaitWithTimeout(absl::Condition(&stop_), absl::Milliseconds(millis));
}

void ChildLoad::CountTorment() {
  absl::MutexLock lock(&mu_);
  ++counts_.torments;
}

bool ChildLoad::EndedByItself() {
  if (child_ > 0 && waitpid(child_, nullptr, WNOHANG) == 0) return false;
  child_ = -1;
  absl::MutexLock lock(&mu_);
  ++counts_.failures;
  return true;
}

void ChildLoad::Run() {
  Spawn();
  if (torment_ == Torment::kKill) {
    while (Wait(500, 3000)) {
      if (EndedByItself()) return;
      Reap(child_);
      CountTorment();
      Spawn();
    }
  } else {
    while (Wait(50, 200)) {
      if (EndedByItself()) return;
      kill(child_, SIGSTOP);
      CountTorment();
      if (!Wait(200, 2000)) break;
      kill(child_, SIGCONT);
    }
  }
  if (!EndedByItself()) Reap(child_);
}

}  // namespace winnow::stress
