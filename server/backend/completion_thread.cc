#include "server/backend/completion_thread.h"

#include <sys/prctl.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/time/time.h"
#include "winnow/kernels/time_slice.h"

namespace winnow::server {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// Where a glance is a question to the driver, it takes a lock that the threads which enqueue want.
void Pause() {
  for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

}  // namespace

nanoseconds LookTime(nanoseconds usual) {
  return std::clamp<nanoseconds>(2 * usual, microseconds(20), microseconds(100));
}

nanoseconds NapTime(nanoseconds age) {
  return std::clamp<nanoseconds>(age / 8, microseconds(10), microseconds(1000));
}

CompletionThread::CompletionThread(Ended ended)
    : ended_(std::move(ended)), thread_([this] { Run(); }) {}

CompletionThread::~CompletionThread() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    wakes_.Signal();
  }
  thread_.join();
}

void CompletionThread::Wake() {
  if (asleep_.load()) wakes_.Signal();
}

void CompletionThread::Expect() {
  if (!asleep_.load()) return;
  absl::MutexLock lock(&mu_);
  expected_ = true;
  Wake();
}

void CompletionThread::Add(BegunLaunch launch) {
  absl::MutexLock lock(&mu_);
  added_.push_back(std::move(launch));
  any_added_ = true;
  Wake();
}

void CompletionThread::TakeAdded() {
  if (!any_added_.load()) return;
  absl::MutexLock lock(&mu_);
  std::move(added_.begin(), added_.end(), std::back_inserter(under_way_));
  added_.clear();
  any_added_ = false;
  look_until_ = Clock::now() + LookTime(usual_);
}

bool CompletionThread::HandOn(LaunchExecutor::Look look) {
  for (size_t i = 0; i < under_way_.size(); ++i) {
    if (!under_way_[i].executor->Done(look)) continue;
    BegunLaunch launch = std::move(under_way_[i]);
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
    const auto now = Clock::now();
    usual_ += (std::chrono::duration_cast<nanoseconds>(now - launch.begun) - usual_) / 8;
    ended_(std::move(launch));
    look_until_ = Clock::now() + LookTime(usual_);
    // From the first again: handing on takes its time.
    return true;
  }
  return false;
}

bool CompletionThread::Sleep() {
  absl::Duration nap = absl::InfiniteDuration();
  const auto now = Clock::now();
  for (const BegunLaunch& launch : under_way_) {
    nap = std::min(nap, absl::FromChrono(NapTime(now - launch.begun)));
  }
  absl::MutexLock lock(&mu_);
  asleep_ = true;
  while (added_.empty() && !expected_) {
    if (stopping_ && under_way_.empty()) return false;
    if (wakes_.WaitWithTimeout(&mu_, nap)) break;
  }
  if (expected_ || !added_.empty()) look_until_ = Clock::now() + LookTime(usual_);
  expected_ = false;
  asleep_ = false;
  return true;
}

void CompletionThread::Run() {
  // A nap ends when it should, and not the usual 50 microseconds later.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  AskForShortTimeSlices();
  auto look = LaunchExecutor::Look::kGlance;
  while (true) {
    TakeAdded();
    if (HandOn(look)) continue;
    look = LaunchExecutor::Look::kGlance;
    if (Clock::now() < look_until_) {
      Pause();
      continue;
    }
    if (!Sleep()) return;
    // Now and then the driver is asked, which knows of a lost device too.
    look = LaunchExecutor::Look::kAsk;
  }
}

}  // namespace winnow::server
