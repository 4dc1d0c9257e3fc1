#include "server/batching/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"
#include "server/backend/work_key.h"
#include "tests/testing/fake_backend.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/work_items.h"

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using winnow::testing::FailsWith;

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

TEST_F(SchedulerTest, AnIdleBackendLaunchesFromInsideSubmit) {
  Start();
  Outcome& task = Submit(MakeTask());
  EXPECT_THAT(ItemsOfLaunches(), ElementsAre(1));
  EXPECT_FALSE(task.done.HasBeenNotified());
  backend_->CompleteOldest();
  EXPECT_OK(task.Await());
  EXPECT_EQ(task.task->work.results.size(), 1u);
}

TEST_F(SchedulerTest, ABusyBackendCollectsWhatArrivesAcrossFlows) {
  Start();
  Submit(MakeTask(1));
  for (int flow = 2; flow <= 6; ++flow) Submit(MakeTask(flow));
  EXPECT_THAT(ItemsOfLaunches(), ElementsAre(1));
  backend_->CompleteOldest();
  EXPECT_THAT(ItemsOfLaunches(), ElementsAre(1, 5));
  CompleteAll();
  for (Outcome& outcome : outcomes_) EXPECT_OK(outcome.Await());
}

TEST_F(SchedulerTest, TasksWithOtherParametersWaitForTheirOwnLaunch) {
  Start();
  Submit(MakeTask(1));
  Submit(MakeTask(1, 1, 4));
  Submit(MakeTask(1, 1, 5));
  Submit(MakeTask(1, 1, 4));
  backend_->CompleteOldest();
  backend_->CompleteOldest();
  EXPECT_THAT(ItemsOfLaunches(), ElementsAre(1, 2, 1));
  CompleteAll();
}

TEST_F(SchedulerTest, NoMoreLaunchesAreInFlightThanTheBackendHasSlots) {
  Start(3);
  for (int i = 0; i < 20; ++i) Submit(MakeTask(i, 1, 1 + i));
  EXPECT_EQ(backend_->in_flight(), 3);
  CompleteAll();
  EXPECT_EQ(backend_->most_in_flight(), 3);
  EXPECT_EQ(backend_->launches().size(), 20u);
}

TEST_F(SchedulerTest, ATaskWhoseDeadlineHasPassedIsRefused) {
  Start();
  auto task = MakeTask();
  task->deadline = clock_.Now();
  Outcome outcome;
  EXPECT_THAT(TrySubmit(task, outcome), FailsWith(ErrorReason::kDeadlineExpired, ""));
  EXPECT_NE(task, nullptr);
  EXPECT_EQ(scheduler_->stats().expired, 1);
}

TEST_F(SchedulerTest, AQueuedTaskExpiresByTheTimerAndIsNeverLaunched) {
  Start();
  Submit(MakeTask());
  auto task = MakeTask();
  task->deadline = clock_.Now() + absl::Seconds(5);
  Outcome& expiring = Submit(std::move(task));
  clock_.AwaitTimers(1);
  clock_.Advance(absl::Seconds(5));
  EXPECT_THAT(expiring.Await(), FailsWith(ErrorReason::kDeadlineExpired, ""));
  CompleteAll();
  EXPECT_THAT(ItemsOfLaunches(), ElementsAre(1));
}

TEST_F(SchedulerTest, NoTimerRunsWhileNothingWaits) {
  Start();
  auto task = MakeTask();
  task->deadline = clock_.Now() + absl::Seconds(5);
  Submit(std::move(task));
  CompleteAll();
  EXPECT_EQ(clock_.pending_timers(), 0);
  Submit(MakeTask());
  Submit(MakeTask());  // waits, but for ever
  EXPECT_EQ(clock_.pending_timers(), 0);
  CompleteAll();
}

TEST_F(SchedulerTest, ACancelledTaskIsNeverLaunched) {
  Start();
  Outcome& running = Submit(MakeTask());
  Outcome& queued = Submit(MakeTask());
  EXPECT_TRUE(scheduler_->Cancel(queued.id));
  EXPECT_THAT(queued.Await(), FailsWith(ErrorReason::kRequestCancelled, ""));
  EXPECT_FALSE(scheduler_->Cancel(queued.id));
  EXPECT_FALSE(scheduler_->Cancel(running.id));
  EXPECT_FALSE(scheduler_->Cancel(12345));
  CompleteAll();
  EXPECT_OK(running.Await());
  EXPECT_THAT(ItemsOfLaunches(), ElementsAre(1));
}

TEST_F(SchedulerTest, AFullQueueRefusesWithUsedAndLimitAndTakesTasksAgainLater) {
  Start(1, {.max_queued_tasks = 2});
  for (int i = 0; i < 3; ++i) Submit(MakeTask());
  auto task = MakeTask();
  Outcome outcome;
  const auto refused = TrySubmit(task, outcome);
  EXPECT_THAT(refused, FailsWith(ErrorReason::kQueueFull, ""));
  const auto info = GetErrorInfo(refused.status());
  EXPECT_EQ(info->value, "2");
  EXPECT_EQ(info->limit, "2 requests");
  EXPECT_GT(info->retry_after_millis, 0);
  EXPECT_NE(task, nullptr);
  backend_->CompleteOldest();
  EXPECT_OK(TrySubmit(task, outcome));
  CompleteAll();
  EXPECT_OK(outcome.Await());
}

TEST_F(SchedulerTest, InlineBytesOfQueuedAndRunningTasksAreBounded) {
  const int64_t bytes = CostOf(MakeTask()->work).host_bytes;
  Start(1, {.max_queued_host_bytes = 2 * bytes + 1});
  Submit(MakeTask());
  Submit(MakeTask());
  EXPECT_EQ(scheduler_->stats().queued_host_bytes, 2 * bytes);
  auto task = MakeTask();
  Outcome outcome;
  EXPECT_THAT(TrySubmit(task, outcome), FailsWith(ErrorReason::kQueueFull, ""));
  task = MakeTask(1, 3);
  EXPECT_THAT(TrySubmit(task, outcome), FailsWith(ErrorReason::kMessageTooLarge, ""));
  CompleteAll();
  EXPECT_EQ(scheduler_->stats().queued_host_bytes, 0);
}

TEST_F(SchedulerTest, AFailureOfOneItemIsItsOwn) {
  Start();
  Outcome& task = Submit(MakeTask());
  backend_->CompleteOldest(absl::InternalError("broken"));
  EXPECT_EQ(task.Await().message(), "broken");
}

TEST_F(SchedulerTest, ABulkTaskIsCutIntoBoundedLaunchesAndPutTogether) {
  Start(1, {.interactive_rows = 4, .bulk_launch_rows = 30});
  Outcome& bulk = Submit(MakeTask(1, 100));
  CompleteAll();
  EXPECT_OK(bulk.Await());
  std::vector<int64_t> rows;
  for (const auto& launch : backend_->launches()) {
    rows.push_back(launch.rows[0]);
    EXPECT_FALSE(launch.high_priority);
  }
  EXPECT_THAT(rows, ElementsAre(30, 30, 30, 10));
  const StepResult& result = bulk.task->work.results[0];
  EXPECT_EQ(result.negative_rows, 4);
  const std::vector<int32_t> indices = Int32s(result.outputs[0]);
  ASSERT_EQ(indices.size(), 400u);
  for (size_t i = 0; i < indices.size(); ++i) ASSERT_EQ(indices[i], i / 4) << i;
}

TEST_F(SchedulerTest, SmallTasksRunBetweenTheLaunchesOfALargeOne) {
  Start(1, {.interactive_rows = 4, .bulk_launch_rows = 30});
  Submit(MakeTask(1, 100));
  Outcome& small = Submit(MakeTask(2));
  backend_->CompleteOldest();
  backend_->CompleteOldest();
  EXPECT_OK(small.Await());
  EXPECT_THAT(backend_->launches()[1].rows, ElementsAre(1));
  EXPECT_TRUE(backend_->launches()[1].high_priority);
  CompleteAll();
  EXPECT_EQ(backend_->launches().size(), 5u);
}

TEST_F(SchedulerTest, BulkWorkLeavesSlotsFree) {
  Start(3, {.interactive_rows = 4, .bulk_launch_rows = 30});
  Submit(MakeTask(1, 100));
  Submit(MakeTask(1, 100));
  EXPECT_EQ(backend_->in_flight(), 1);
  Submit(MakeTask(2));
  EXPECT_EQ(backend_->in_flight(), 2);
  CompleteAll();
}

TEST_F(SchedulerTest, AFailedLaunchEndsItsBulkTaskWithoutTheRest) {
  Start(1, {.interactive_rows = 4, .bulk_launch_rows = 30});
  Outcome& bulk = Submit(MakeTask(1, 100));
  backend_->CompleteOldest();
  backend_->CompleteOldest(absl::InternalError("broken"));
  EXPECT_EQ(bulk.Await().message(), "broken");
  EXPECT_EQ(backend_->launches().size(), 2u);
  EXPECT_EQ(backend_->in_flight(), 0);
}

TEST_F(SchedulerTest, CancellingALargeTaskDropsItsRemainingLaunches) {
  Start(1, {.interactive_rows = 4, .bulk_launch_rows = 30});
  Outcome& bulk = Submit(MakeTask(1, 100));
  EXPECT_TRUE(scheduler_->Cancel(bulk.id));
  EXPECT_FALSE(bulk.done.HasBeenNotified());
  backend_->CompleteOldest();
  EXPECT_THAT(bulk.Await(), FailsWith(ErrorReason::kRequestCancelled, ""));
  EXPECT_EQ(backend_->launches().size(), 1u);
}

TEST_F(SchedulerTest, EndingAFlowDropsItsQueueAndReportsIdleAfterItsRunningWork) {
  Start();
  Outcome& running = Submit(MakeTask(7));
  Outcome& queued = Submit(MakeTask(7));
  Outcome& other = Submit(MakeTask(8));
  absl::Notification idle;
  scheduler_->EndFlow(7, [&] {
    EXPECT_TRUE(running.done.HasBeenNotified());
    idle.Notify();
  });
  EXPECT_THAT(queued.Await(), FailsWith(ErrorReason::kRequestCancelled, ""));
  EXPECT_FALSE(idle.HasBeenNotified());
  backend_->CompleteOldest();
  idle.WaitForNotification();
  CompleteAll();
  EXPECT_OK(other.Await());
}

TEST_F(SchedulerTest, EndingAFlowWithoutWorkReportsIdle) {
  Start();
  absl::Notification idle;
  scheduler_->EndFlow(99, [&] { idle.Notify(); });
  idle.WaitForNotification();
}

TEST_F(SchedulerTest, DrainFinishesWhatIsThereAndRefusesTheRest) {
  Start();
  Outcome& running = Submit(MakeTask());
  Outcome& queued = Submit(MakeTask());
  std::thread drain([&] { scheduler_->Drain(absl::InfiniteFuture()); });
  absl::Status status;
  while (!absl::IsUnavailable(status)) {  // until the drain has begun
    auto task = MakeTask(9);
    status = TrySubmit(task, outcomes_.emplace_back()).status();
  }
  EXPECT_THAT(status, FailsWith(ErrorReason::kServerDraining, ""));
  backend_->CompleteOldest();
  while (!queued.done.HasBeenNotified()) {
    if (backend_->in_flight() > 0) backend_->CompleteOldest();
  }
  CompleteAll();
  drain.join();
  EXPECT_OK(running.Await());
  EXPECT_OK(queued.Await());
}

TEST_F(SchedulerTest, ADrainPastItsDeadlineFailsWhatIsQueuedAndWaitsForWhatRuns) {
  Start();
  Outcome& running = Submit(MakeTask());
  Outcome& queued = Submit(MakeTask());
  std::thread drain([&] { scheduler_->Drain(clock_.Now() + absl::Seconds(30)); });
  clock_.AwaitTimers(1);
  clock_.Advance(absl::Seconds(30));
  EXPECT_THAT(queued.Await(), FailsWith(ErrorReason::kServerDraining, ""));
  EXPECT_FALSE(running.done.HasBeenNotified());
  backend_->CompleteOldest();
  drain.join();
  EXPECT_OK(running.Await());
  EXPECT_EQ(scheduler_->stats().running_tasks, 0);
  EXPECT_EQ(scheduler_->stats().queued_tasks, 0);
}

TEST_F(SchedulerTest, TimingTellsQueueAndTotal) {
  Start();
  Submit(MakeTask());
  Outcome& queued = Submit(MakeTask());
  clock_.Advance(absl::Milliseconds(3));
  backend_->CompleteOldest();
  clock_.Advance(absl::Milliseconds(4));
  backend_->CompleteOldest();
  EXPECT_OK(queued.Await());
  EXPECT_EQ(queued.task->work.timing.queued, absl::Milliseconds(3));
  EXPECT_EQ(queued.task->work.timing.total, absl::Milliseconds(7));
}

TEST_F(SchedulerTest, ATaskMaySubmitAnotherFromItsCallback) {
  Start();
  absl::Notification second_done;
  auto first = MakeTask();
  first->done = [&](std::unique_ptr<Task>) {
    auto second = MakeTask();
    second->done = [&](std::unique_ptr<Task>) { second_done.Notify(); };
    EXPECT_OK(scheduler_->Submit(second));
  };
  ASSERT_OK(scheduler_->Submit(first));
  backend_->CompleteOldest();
  backend_->CompleteOldest();
  second_done.WaitForNotification();
}

TEST_F(SchedulerTest, AFlowThatFloodsTheQueueDoesNotDelayAnother) {
  Start(1, {.max_batch_items = 1});
  for (int i = 0; i < 20; ++i) Submit(MakeTask(1));
  Outcome& late = Submit(MakeTask(2));
  for (int i = 0; i < 3; ++i) backend_->CompleteOldest();
  EXPECT_OK(late.Await());
  CompleteAll();
}

TEST_F(SchedulerTest, InsideAFlowTheEarliestDeadlineIsLaunchedFirst) {
  Start(1, {.max_batch_items = 1});
  Submit(MakeTask());
  Outcome& patient = Submit(MakeTask());
  auto task = MakeTask();
  task->deadline = clock_.Now() + absl::Seconds(5);
  Outcome& urgent = Submit(std::move(task));
  backend_->CompleteOldest();
  backend_->CompleteOldest();
  EXPECT_OK(urgent.Await());
  EXPECT_FALSE(patient.done.HasBeenNotified());
  CompleteAll();
}

TEST_F(SchedulerTest, CountersAddUp) {
  Start(1, {.max_queued_tasks = 3});
  Submit(MakeTask());
  Outcome& cancelled = Submit(MakeTask());
  Submit(MakeTask());
  scheduler_->Cancel(cancelled.id);
  cancelled.Await();
  CompleteAll();
  const SchedulerStats stats = scheduler_->stats();
  EXPECT_EQ(stats.submitted, 3);
  EXPECT_EQ(stats.cancelled, 1);
  EXPECT_EQ(stats.batches, 2);
  EXPECT_EQ(stats.batched_tasks, 2);
  EXPECT_EQ(stats.batched_rows, 2);
}

}  // namespace
}  // namespace winnow::server
