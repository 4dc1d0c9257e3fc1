#include "tests/testing/fake_clock.h"

#include <vector>

namespace winnow::server {

absl::Time FakeClock::Now() const {
  absl::MutexLock lock(&mu_);
  return now_;
}

void FakeClock::WaitUntil(absl::Mutex& mutex, absl::CondVar& changed, absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) {
    changed.Wait(&mutex);
    return;
  }
  std::list<Waiter>::iterator self;
  {
    absl::MutexLock lock(&mu_);
    if (now_ >= deadline) return;
    self = waiters_.insert(waiters_.end(), Waiter{&mutex, &changed, deadline});
  }
  // Advance takes `mutex` before it signals, so the signal cannot come before this wait.
  changed.Wait(&mutex);
  // Advance may still hold on to `self` and want `mutex`.
  mutex.Unlock();
  mu_.LockWhen(absl::Condition(
      +[](Waiter* waiter) { return !waiter->being_woken; }, &*self));
  waiters_.erase(self);
  mu_.Unlock();
  mutex.Lock();
}

void FakeClock::Advance(absl::Duration duration) {
  std::vector<Waiter*> due;
  {
    absl::MutexLock lock(&mu_);
    now_ += duration;
    for (Waiter& waiter : waiters_) {
      if (waiter.deadline > now_ || waiter.being_woken) continue;
      waiter.being_woken = true;
      due.push_back(&waiter);
    }
  }
  for (Waiter* waiter : due) {
    waiter->mutex->Lock();
    waiter->changed->SignalAll();
    waiter->mutex->Unlock();
    absl::MutexLock lock(&mu_);
    waiter->being_woken = false;
  }
}

int64_t FakeClock::pending_timers() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int64_t>(waiters_.size());
}

void FakeClock::AwaitTimers(int64_t count) const {
  const auto reached = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return static_cast<int64_t>(waiters_.size()) == count;
  };
  mu_.LockWhen(absl::Condition(&reached));
  mu_.Unlock();
}

}  // namespace winnow::server
