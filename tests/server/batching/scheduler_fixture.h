// A scheduler over a fake backend and a fake clock.

#ifndef WINNOW_TESTS_SERVER_BATCHING_SCHEDULER_FIXTURE_H_
#define WINNOW_TESTS_SERVER_BATCHING_SCHEDULER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/batching/scheduler.h"
#include "tests/testing/fake_backend.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"
#include "winnow/kernels/error.h"

namespace winnow::server {

// What a test knows of one task.
struct Outcome {
  absl::Notification done;
  std::unique_ptr<Task> task;
  TaskId id = 0;

  const absl::Status& Await() {
    done.WaitForNotification();
    return task->work.status;
  }
};

class SchedulerTest : public ::testing::Test {
 protected:
  void Start(int32_t slots = 1, SchedulerOptions options = {}) {
    backend_ = std::make_unique<FakeBackend>(slots);
    scheduler_ = Scheduler::Create(options, backend_.get(), &clock_);
  }

  static std::unique_ptr<Task> MakeTask(int64_t flow = 1, int64_t rows = 1, int32_t k = 4) {
    auto task = std::make_unique<Task>();
    task->work = MakeTopKItem(rows, 16, k);
    task->flow_id = flow;
    return task;
  }

  absl::StatusOr<TaskId> TrySubmit(std::unique_ptr<Task>& task, Outcome& outcome) {
    task->done = [&outcome](std::unique_ptr<Task> finished) {
      outcome.task = std::move(finished);
      outcome.done.Notify();
    };
    return scheduler_->Submit(task);
  }

  Outcome& Submit(std::unique_ptr<Task> task) {
    Outcome& outcome = outcomes_.emplace_back();
    const auto id = TrySubmit(task, outcome);
    EXPECT_OK(id);
    outcome.id = id.value_or(-1);
    return outcome;
  }

  std::vector<size_t> ItemsOfLaunches() {
    std::vector<size_t> sizes;
    for (const auto& launch : backend_->launches()) sizes.push_back(launch.items.size());
    return sizes;
  }

  // Completes launches until nothing is in flight or waiting.
  void CompleteAll() {
    while (backend_->in_flight() > 0) backend_->CompleteOldest();
  }

  FakeClock clock_;
  std::list<Outcome> outcomes_;
  std::unique_ptr<FakeBackend> backend_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace winnow::server

#endif  // WINNOW_TESTS_SERVER_BATCHING_SCHEDULER_FIXTURE_H_
