#include "kernels/cpu/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace winnow::cpu {
namespace {

TEST(WorkerPoolTest, EveryItemIsDoneOnce) {
  WorkerPool pool(4);
  EXPECT_EQ(pool.threads(), 4);
  for (const int64_t count : {0, 1, 2, 3, 4, 5, 1000}) {
    std::vector<std::atomic<int>> done(count);
    pool.Run(count, [&](int64_t i) { ++done[i]; });
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(WorkerPoolTest, APoolOfOneThreadDoesAllOnTheCaller) {
  WorkerPool pool(1);
  std::set<std::thread::id> threads;
  pool.Run(100, [&](int64_t) { threads.insert(std::this_thread::get_id()); });
  EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()});
}

// Each item waits for the other, so both threads of the pool have one.
TEST(WorkerPoolTest, AllItemsOfAJobGiveWayWhenItsCallerDoes) {
  WorkerPool pool(2);
  for (const bool gives_way : {true, false}) {
    const GivingWay of_the_caller(gives_way);
    std::atomic<int> here = 0, giving_way = 0;
    pool.Run(2, [&](int64_t) {
      giving_way += GivingWay::Here();
      ++here;
      while (here < 2) std::this_thread::yield();
    });
    EXPECT_EQ(giving_way, gives_way ? 2 : 0);
  }
}

// Each item waits for the others, so the job ends only if four threads work on it.
TEST(WorkerPoolTest, AJobIsDoneByAllThreads) {
  WorkerPool pool(4);
  std::mutex mutex;
  std::condition_variable all_here;
  int here = 0;
  pool.Run(4, [&](int64_t) {
    std::unique_lock<std::mutex> lock(mutex);
    ++here;
    all_here.notify_all();
    all_here.wait(lock, [&] { return here == 4; });
  });
  EXPECT_EQ(here, 4);
}

TEST(WorkerPoolTest, WritesOfTheItemsAreSeenAfterRun) {
  WorkerPool pool(3);
  std::vector<int64_t> squares(5000);
  for (int round = 0; round < 50; ++round) {
    pool.Run(5000, [&](int64_t i) { squares[i] = i * i + round; });
    for (int64_t i = 0; i < 5000; ++i) ASSERT_EQ(squares[i], i * i + round);
  }
}

TEST(WorkerPoolTest, SeveralCallersShareThePool) {
  WorkerPool pool(3);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 5; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        int64_t sum = 0;
        std::mutex mutex;
        pool.Run(20, [&](int64_t i) {
          std::lock_guard<std::mutex> lock(mutex);
          sum += i;
        });
        total += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 5 * 200 * 190);
}

TEST(WorkerPoolTest, AnIdlePoolEndsAtOnce) {
  for (int round = 0; round < 20; ++round) WorkerPool pool(4);
}

}  // namespace
}  // namespace winnow::cpu
