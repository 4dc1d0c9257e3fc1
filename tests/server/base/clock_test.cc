#include "server/base/clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "tests/testing/fake_clock.h"

namespace winnow::server {
namespace {

TEST(RealClockTest, NeverGoesBackAndIsNearTheWallClock) {
  Clock* clock = Clock::Real();
  absl::Time last = clock->Now();
  EXPECT_LT(absl::AbsDuration(last - absl::Now()), absl::Minutes(1));
  for (int i = 0; i < 1000; ++i) {
    const absl::Time now = clock->Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(RealClockTest, AWaitEndsAtItsDeadline) {
  Clock* clock = Clock::Real();
  absl::Mutex mutex;
  absl::CondVar changed;
  const absl::Time deadline = clock->Now() + absl::Milliseconds(2);
  absl::MutexLock lock(&mutex);
  while (clock->Now() < deadline) clock->WaitUntil(mutex, changed, deadline);
  EXPECT_GE(clock->Now(), deadline);
}

TEST(FakeClockTest, StandsStillUntilItIsMoved) {
  FakeClock clock;
  const absl::Time start = clock.Now();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(absl::Seconds(3));
  EXPECT_EQ(clock.Now(), start + absl::Seconds(3));
}

TEST(FakeClockTest, AWaiterWakesWhenItsDeadlineHasComeAndNotBefore) {
  FakeClock clock;
  const absl::Time deadline = clock.Now() + absl::Seconds(10);
  absl::Mutex mutex;
  absl::CondVar changed;
  std::atomic<bool> woken = false;
  std::thread waiter([&] {
    absl::MutexLock lock(&mutex);
    while (clock.Now() < deadline) clock.WaitUntil(mutex, changed, deadline);
    woken = true;
  });
  clock.AwaitTimers(1);
  clock.Advance(absl::Seconds(9));
  EXPECT_EQ(clock.pending_timers(), 1);
  EXPECT_FALSE(woken);
  clock.Advance(absl::Seconds(1));
  waiter.join();
  EXPECT_TRUE(woken);
  EXPECT_EQ(clock.pending_timers(), 0);
}

TEST(FakeClockTest, ASignalEndsAWaitBeforeItsDeadline) {
  FakeClock clock;
  absl::Mutex mutex;
  absl::CondVar changed;
  bool ready = false;
  std::thread waiter([&] {
    absl::MutexLock lock(&mutex);
    while (!ready) clock.WaitUntil(mutex, changed, clock.Now() + absl::Hours(1));
  });
  clock.AwaitTimers(1);
  {
    absl::MutexLock lock(&mutex);
    ready = true;
    changed.Signal();
  }
  waiter.join();
  EXPECT_EQ(clock.pending_timers(), 0);
}

}  // namespace
}  // namespace winnow::server
