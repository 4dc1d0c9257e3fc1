#include "client/src/completion_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stop_token>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"

namespace winnow::client {
namespace {

TEST(CompletionThreadTest, UnusedOneEndsWithoutAThread) { CompletionThread thread; }

TEST(CompletionThreadTest, TimeDoesNotGoBack) {
  CompletionThread thread;
  const absl::Time first = thread.Now();
  EXPECT_GE(thread.Now(), first);
}

TEST(CompletionThreadTest, ATimerRingsOnTheThreadAfterItsDelay) {
  CompletionThread thread;
  absl::Notification rang;
  const absl::Time start = thread.Now();
  thread.After(absl::Milliseconds(5), {}, [&] {
    EXPECT_TRUE(thread.IsCurrent());
    rang.Notify();
  });
  rang.WaitForNotification();
  // gRPC's alarms count whole milliseconds.
  EXPECT_GE(thread.Now() - start, absl::Milliseconds(4));
  EXPECT_FALSE(thread.IsCurrent());
}

TEST(CompletionThreadTest, AStopRingsATimerEarly) {
  CompletionThread thread;
  std::stop_source stop;
  absl::Notification rang;
  thread.After(absl::Hours(1), stop.get_token(), [&] { rang.Notify(); });
  stop.request_stop();
  rang.WaitForNotification();
}

TEST(CompletionThreadTest, ATimerWhoseStopCameFirstRingsAtOnce) {
  CompletionThread thread;
  std::stop_source stop;
  stop.request_stop();
  absl::Notification rang;
  thread.After(absl::Hours(1), stop.get_token(), [&] { rang.Notify(); });
  rang.WaitForNotification();
}

TEST(CompletionThreadTest, StopsThatRaceWithTheTimersStillRingEachOnce) {
  CompletionThread thread;
  constexpr int kTimers = 500;
  absl::BlockingCounter open(kTimers);
  std::atomic<int> rung = 0;
  for (int i = 0; i < kTimers; ++i) {
    std::stop_source stop;
    thread.After(absl::Microseconds(i * 10), stop.get_token(), [&] {
      ++rung;
      open.DecrementCount();
    });
    stop.request_stop();
  }
  open.Wait();
  EXPECT_EQ(rung, kTimers);
}

TEST(CompletionThreadTest, ItMayEndOnItself) {
  auto thread = std::make_unique<CompletionThread>();
  absl::Notification ended;
  CompletionThread* raw = thread.get();
  raw->After(absl::ZeroDuration(), {}, [&ended, thread = std::move(thread)]() mutable {
    thread.reset();
    ended.Notify();
  });
  ended.WaitForNotification();
}

}  // namespace
}  // namespace winnow::client
