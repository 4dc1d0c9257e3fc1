// A clock that stands still until a test moves it.

#ifndef WINNOW_TESTS_TESTING_FAKE_CLOCK_H_
#define WINNOW_TESTS_TESTING_FAKE_CLOCK_H_

#include <cstdint>
#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/clock.h"

namespace winnow::server {

// Thread safety: safe to call from several threads. Outlives whoever waits on it.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'000'000'000)) : now_(start) {}

  absl::Time Now() const override;
  void WaitUntil(absl::Mutex& mutex, absl::CondVar& changed, absl::Time deadline) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Moves the time and wakes every waiter whose deadline has come. Must not be called with a mutex
  // held that someone waits with.
  void Advance(absl::Duration duration);

  // Waits with a finite deadline that are in progress: timers, so to speak.
  int64_t pending_timers() const;
  // Blocks until `count` of them are.
  void AwaitTimers(int64_t count) const;

 private:
  struct Waiter {
    absl::Mutex* mutex;
    absl::CondVar* changed;
    absl::Time deadline;
    bool being_woken = false;
  };

  mutable absl::Mutex mu_;
  absl::Time now_ ABSL_GUARDED_BY(mu_);
  std::list<Waiter> waiters_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::server

#endif  // WINNOW_TESTS_TESTING_FAKE_CLOCK_H_
