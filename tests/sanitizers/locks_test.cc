// What ThreadSanitizer must accept: data guarded by each of abseil's ways to lock and wait. Runs in
// every build; only under ThreadSanitizer can it fail for a lock that was not seen (absl_locks.cc).

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace winnow {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 2000;

void RunThreads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(LocksTest, MutexOrdersWrites) {
  absl::Mutex mutex;
  int64_t sum = 0;
  RunThreads([&](int) {
    for (int i = 0; i < kRounds; ++i) {
      absl::MutexLock lock(&mutex);
      ++sum;
    }
  });
  EXPECT_EQ(sum, kThreads * kRounds);
}

TEST(LocksTest, TryLockOrdersWrites) {
  absl::Mutex mutex;
  int64_t sum = 0;
  int64_t expected = 0;
  RunThreads([&](int) {
    for (int i = 0; i < kRounds; ++i) {
      if (!mutex.TryLock()) continue;
      ++sum;
      ++expected;
      mutex.Unlock();
    }
  });
  EXPECT_EQ(sum, expected);
}

TEST(LocksTest, ReaderLockSeesTheWritersData) {
  absl::Mutex mutex;
  int64_t first = 0;
  int64_t second = 0;
  RunThreads([&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      if (thread == 0) {
        absl::WriterMutexLock lock(&mutex);
        ++first;
        ++second;
      } else {
        absl::ReaderMutexLock lock(&mutex);
        EXPECT_EQ(first, second);
      }
    }
  });
}

TEST(LocksTest, CondVarHandsDataOver) {
  absl::Mutex mutex;
  absl::CondVar changed;
  int turn = 0;
  RunThreads([&](int thread) {
    for (int i = 0; i < 100; ++i) {
      absl::MutexLock lock(&mutex);
      while (turn % kThreads != thread) {
        changed.WaitWithDeadline(&mutex, absl::Now() + absl::Seconds(60));
      }
      ++turn;
      changed.SignalAll();
    }
  });
  EXPECT_EQ(turn, 100 * kThreads);
}

TEST(LocksTest, AwaitHandsDataOver) {
  absl::Mutex mutex;
  int turn = 0;
  RunThreads([&](int thread) {
    const auto mine = [&] { return turn % kThreads == thread; };
    for (int i = 0; i < 100; ++i) {
      absl::MutexLock lock(&mutex);
      mutex.Await(absl::Condition(&mine));
      ++turn;
    }
  });
  EXPECT_EQ(turn, 100 * kThreads);
}

TEST(LocksTest, NotificationHandsDataOver) {
  for (int round = 0; round < 200; ++round) {
    int data = 0;
    absl::Notification ready;
    std::thread writer([&] {
      data = round;
      ready.Notify();
    });
    if (round % 2 == 0) {
      ready.WaitForNotification();
    } else {
      while (!ready.HasBeenNotified()) std::this_thread::yield();
    }
    EXPECT_EQ(data, round);
    writer.join();
  }
}

}  // namespace
}  // namespace winnow
