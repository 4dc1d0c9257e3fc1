// Launching and queueing. Bulk tasks: scheduler_bulk_test.cc; tasks that end without a launch:
// scheduler_endings_test.cc; random schedules: scheduler_schedules_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/backend/work_key.h"
#include "tests/server/batching/scheduler_fixture.h"

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using winnow::testing::FailsWith;

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

TEST_F(SchedulerTest, WhatArrivesWhileTwoInteractiveLaunchesRunSharesTheNextOne) {
  Start(4, {.max_interactive_launches = 2});
  for (int i = 0; i < 10; ++i) Submit(MakeTask(i));
  EXPECT_EQ(backend_->in_flight(), 2);
  backend_->CompleteOldest();
  CompleteAll();
  EXPECT_THAT(ItemsOfLaunches(), ElementsAre(1, 1, 8));
}

TEST_F(SchedulerTest, ALaunchThatWaitsForAWordIsNotWaitedFor) {
  Start(4, {.max_interactive_launches = 1});
  std::byte word{};
  auto waits = MakeTask();
  waits->work.ordering.wait_word = &word;
  Submit(std::move(waits));
  Submit(MakeTask());
  EXPECT_EQ(backend_->in_flight(), 2);
  Submit(MakeTask());
  EXPECT_EQ(backend_->in_flight(), 2);
  CompleteAll();
  EXPECT_THAT(ItemsOfLaunches(), ElementsAre(1, 1, 1));
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

TEST_F(SchedulerTest, TheBytesOfATaskAreFreeOnceItIsDone) {
  const int64_t bytes = CostOf(MakeTask()->work).host_bytes;
  Start(1, {.max_queued_host_bytes = bytes});
  absl::Status second;
  auto first = MakeTask();
  first->done = [&](std::unique_ptr<Task>) {
    EXPECT_EQ(scheduler_->stats().completed, 1);
    auto task = MakeTask();
    task->done = [](std::unique_ptr<Task>) {};
    second = scheduler_->Submit(task).status();
  };
  ASSERT_OK(scheduler_->Submit(first));
  backend_->CompleteOldest();
  ASSERT_OK(second);
  CompleteAll();
}

TEST_F(SchedulerTest, TheBytesOfACancelledTaskAreFreeOnceItIsDone) {
  const int64_t bytes = CostOf(MakeTask()->work).host_bytes;
  Start(1, {.max_queued_host_bytes = 2 * bytes});
  Submit(MakeTask());
  absl::Status next;
  absl::Notification done;
  auto cancelled = MakeTask();
  cancelled->done = [&](std::unique_ptr<Task>) {
    auto task = MakeTask();
    task->done = [](std::unique_ptr<Task>) {};
    next = scheduler_->Submit(task).status();
    done.Notify();
  };
  const auto id = scheduler_->Submit(cancelled);
  ASSERT_OK(id.status());
  ASSERT_TRUE(scheduler_->Cancel(*id));
  done.WaitForNotification();
  EXPECT_OK(next);
  CompleteAll();
}

TEST_F(SchedulerTest, AFailureOfOneItemIsItsOwn) {
  Start();
  Outcome& task = Submit(MakeTask());
  backend_->CompleteOldest(absl::InternalError("broken"));
  EXPECT_EQ(task.Await().message(), "broken");
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
