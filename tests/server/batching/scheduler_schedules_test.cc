// Random schedules of submit, cancel, expire, end of flow and drain from several threads: every
// task is done exactly once with an outcome that its schedule allows.
//
// WINNOW_SCHEDULES: how many (default 2,000). WINNOW_SEED: of the first one (default: random).

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>
#include <set>
#include <thread>

#include "server/batching/scheduler.h"
#include "tests/testing/fake_backend.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/work_items.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

constexpr int kThreads = 3;
constexpr int kStepsPerThread = 14;

struct Record {
  std::atomic<int> done_calls = 0;
  std::atomic<bool> cancel_accepted = false;
  std::unique_ptr<Task> task;
  absl::Time deadline;
  int64_t rows = 0;
  int64_t flow = 0;
  bool accepted = false;
};

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

class Schedule {
 public:
  explicit Schedule(uint32_t seed)
      : random_(seed), backend_(1 + static_cast<int32_t>(random_() % 3), seed | 1) {
    SchedulerOptions options;
    options.max_queued_tasks = 1 + random_() % 20;
    options.max_batch_items = 1 + random_() % 4;
    options.interactive_rows = 4;
    options.bulk_launch_rows = 1 + random_() % 6;
    options.max_bulk_launches = 1 + static_cast<int32_t>(random_() % 2);
    options.max_interactive_launches = 1 + static_cast<int32_t>(random_() % 3);
    scheduler_ = Scheduler::Create(options, &backend_, &clock_);
    ends_flow_ = random_() % 2 == 0;
    drains_early_ = random_() % 4 == 0;
  }

  void Run() {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t, seed = random_()] { RunThread(t, seed); });
    }
    std::thread drain;
    if (drains_early_) drain = std::thread([this] { scheduler_->Drain(clock_.Now()); });
    for (std::thread& thread : threads) thread.join();
    if (drain.joinable()) drain.join();
    scheduler_->Drain(absl::InfiniteFuture());
    Check();
  }

 private:
  // Each thread has a flow of its own, so that it can end it.
  void RunThread(int thread, uint32_t seed) {
    std::minstd_rand random(seed);
    std::vector<std::pair<TaskId, Record*>> mine;
    for (int step = 0; step < kStepsPerThread; ++step) {
      const auto kind = random() % 10;
      if (kind < 7) {
        SubmitOne(thread, random, mine);
      } else if (kind < 9 && !mine.empty()) {
        const auto& [id, record] = mine[random() % mine.size()];
        if (scheduler_->Cancel(id)) record->cancel_accepted = true;
      } else {
        clock_.Advance(absl::Seconds(1));
      }
    }
    if (ends_flow_) {
      flow_ended_[thread] = true;
      scheduler_->EndFlow(thread, [this, thread] {
        ++idle_calls_[thread];
        unfinished_at_idle_[thread] = unfinished_[thread].load();
      });
    }
  }

  void SubmitOne(int thread, std::minstd_rand& random,
                 std::vector<std::pair<TaskId, Record*>>& mine) {
    Record& record = records_[thread].emplace_back();
    record.flow = thread;
    record.rows = random() % 3 == 0 ? 5 + random() % 20 : 1 + random() % 4;
    auto task = std::make_unique<Task>();
    task->work = MakeTopKItem(record.rows, 4, 1 + static_cast<int32_t>(random() % 2));
    // Tells the tasks of launches apart: the address of a slice may later be that of a task.
    task->work.keep_alive = std::shared_ptr<const void>(std::shared_ptr<const void>(), &record);
    task->flow_id = thread;
    task->flow_weight = 1 + static_cast<int32_t>(random() % 3);
    if (random() % 2 == 0) task->deadline = clock_.Now() + absl::Seconds(random() % 4);
    record.deadline = task->deadline;
    task->done = [this, thread, &record](std::unique_ptr<Task> finished) {
      ++record.done_calls;
      record.task = std::move(finished);
      --unfinished_[thread];
    };
    ++unfinished_[thread];
    const auto id = scheduler_->Submit(task);
    record.accepted = id.ok();
    if (id.ok()) {
      mine.emplace_back(*id, &record);
    } else {
      --unfinished_[thread];
      CheckRefusal(id.status(), record);
      ASSERT_NE(task, nullptr);
    }
  }

  void CheckRefusal(const absl::Status& status, const Record& record) {
    const auto info = GetErrorInfo(status);
    ASSERT_TRUE(info.has_value()) << status;
    switch (info->reason) {
      case ErrorReason::kQueueFull:
        break;
      case ErrorReason::kServerDraining:
        EXPECT_TRUE(drains_early_);
        break;
      case ErrorReason::kDeadlineExpired:
        EXPECT_LE(record.deadline, clock_.Now());
        break;
      default:
        ADD_FAILURE() << status;
    }
  }

  void CheckOutcome(const Record& record, bool launched_whole) {
    const absl::Status& status = record.task->work.status;
    if (status.ok()) {
      CheckResults(record);
      return;
    }
    EXPECT_FALSE(launched_whole) << "a task that failed in the queue was launched: " << status;
    switch (GetErrorInfo(status).value_or(ErrorInfo{}).reason) {
      case ErrorReason::kRequestCancelled:
        EXPECT_TRUE(record.cancel_accepted || flow_ended_[record.flow]);
        break;
      case ErrorReason::kDeadlineExpired:
        EXPECT_LE(record.deadline, clock_.Now());
        break;
      case ErrorReason::kServerDraining:
        EXPECT_TRUE(drains_early_);
        break;
      default:
        ADD_FAILURE() << status;
    }
  }

  // Row r of the output holds r, whichever launch wrote it.
  void CheckResults(const Record& record) {
    ASSERT_EQ(record.task->work.results.size(), 1u);
    const auto indices = Int32s(record.task->work.results[0].outputs.at(0));
    const int64_t k = std::get<TopKStep>(record.task->work.steps[0]).params.k;
    ASSERT_EQ(static_cast<int64_t>(indices.size()), record.rows * k);
    for (size_t i = 0; i < indices.size(); ++i) ASSERT_EQ(indices[i], static_cast<int64_t>(i) / k);
  }

  void Check() {
    std::set<const void*> launched;
    for (const auto& launch : backend_.launches()) {
      launched.insert(launch.kept_alive.begin(), launch.kept_alive.end());
    }
    for (const auto& of_thread : records_) {
      for (const Record& record : of_thread) {
        ASSERT_EQ(record.done_calls, record.accepted ? 1 : 0);
        if (!record.accepted) continue;
        if (record.cancel_accepted) {
          EXPECT_TRUE(absl::IsCancelled(record.task->work.status)) << record.task->work.status;
        }
        CheckOutcome(record, launched.count(&record) > 0);
      }
    }
    for (int t = 0; t < kThreads; ++t) {
      EXPECT_EQ(idle_calls_[t], ends_flow_ ? 1 : 0);
      EXPECT_EQ(unfinished_at_idle_[t], 0);
    }
    EXPECT_LE(backend_.most_in_flight(), backend_.info().launch_slots);
    const SchedulerStats stats = scheduler_->stats();
    EXPECT_EQ(stats.queued_tasks, 0);
    EXPECT_EQ(stats.running_tasks, 0);
    EXPECT_EQ(stats.queued_host_bytes, 0);
    EXPECT_EQ(stats.completed, stats.submitted);
  }

  std::minstd_rand random_;
  FakeClock clock_;
  FakeBackend backend_;
  bool ends_flow_ = false;
  bool drains_early_ = false;
  std::deque<Record> records_[kThreads];
  std::atomic<int> unfinished_[kThreads] = {};
  std::atomic<bool> flow_ended_[kThreads] = {};
  std::atomic<int> idle_calls_[kThreads] = {};
  std::atomic<int> unfinished_at_idle_[kThreads] = {};
  std::unique_ptr<Scheduler> scheduler_;
};

TEST(SchedulerSchedulesTest, EveryTaskIsDoneExactlyOnceWithALegalOutcome) {
  const int64_t count = FromEnvironment("WINNOW_SCHEDULES", 2000);
  const auto first_seed =
      static_cast<uint32_t>(FromEnvironment("WINNOW_SEED", std::random_device{}()));
  std::cout << count << " schedules from seed " << first_seed << std::endl;
  for (int64_t i = 0; i < count && !HasFailure(); ++i) {
    const auto seed = first_seed + static_cast<uint32_t>(i);
    SCOPED_TRACE(::testing::Message() << "WINNOW_SCHEDULES=1 WINNOW_SEED=" << seed);
    Schedule(seed).Run();
  }
}

}  // namespace
}  // namespace winnow::server
