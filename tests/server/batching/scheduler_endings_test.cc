// Tasks that end without a launch: expired, cancelled, of an ended flow, drained.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/server/batching/scheduler_fixture.h"

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using winnow::testing::FailsWith;

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

// So that what a lease held is free when the end of the lease is answered.
TEST_F(SchedulerTest, EndingAFlowWithoutWorkReportsIdleAtOnce) {
  Start();
  bool idle = false;
  scheduler_->EndFlow(99, [&] { idle = true; });
  EXPECT_TRUE(idle);
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

// The ledger must outlive what is reported to it.
TEST_F(SchedulerTest, ADrainWaitsForTheReportOfAFlowWhoseLastTaskItFinished) {
  Start();
  Outcome& running = Submit(MakeTask(7));
  absl::Notification drained;
  std::atomic<bool> reported{false};
  scheduler_->EndFlow(7, [&] {
    // Not for ever: the drain waits for this.
    EXPECT_FALSE(drained.WaitForNotificationWithTimeout(absl::Milliseconds(20)));
    reported = true;
  });
  EXPECT_FALSE(reported);
  CompleteAll();
  scheduler_->Drain(absl::InfinitePast());
  EXPECT_TRUE(reported);
  drained.Notify();
  EXPECT_OK(running.Await());
}

TEST_F(SchedulerTest, ADrainThatHasBegunRefusesTasksBeforeAnybodyWaitsForIt) {
  Start();
  Outcome& running = Submit(MakeTask());
  scheduler_->BeginDrain();
  auto task = MakeTask(9);
  EXPECT_THAT(TrySubmit(task, outcomes_.emplace_back()).status(),
              FailsWith(ErrorReason::kServerDraining, ""));
  backend_->CompleteOldest();
  EXPECT_OK(running.Await());
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

std::unique_ptr<Task> WaitingTask(std::unique_ptr<Task> task, uint32_t& word) {
  task->work.ordering = {.wait_word = reinterpret_cast<std::byte*>(&word), .wait_value = 1};
  return task;
}

TEST_F(SchedulerTest, TheEndOfAFlowEndsItsWaitsAndNoOthers) {
  Start(2);
  uint32_t words[2] = {};
  Outcome& ended = Submit(WaitingTask(MakeTask(1), words[0]));
  Outcome& other = Submit(WaitingTask(MakeTask(2), words[1]));
  const auto end_of = [&](int launch) {
    return backend_->launches()[launch].items[0]->ordering.wait_end->load();
  };
  EXPECT_EQ(end_of(0), WaitEnd::kNone);
  absl::Notification idle;
  scheduler_->EndFlow(1, [&] { idle.Notify(); });
  EXPECT_EQ(end_of(0), WaitEnd::kLeaseEnded);
  EXPECT_EQ(end_of(1), WaitEnd::kNone);
  CompleteAll();
  idle.WaitForNotification();
  EXPECT_OK(ended.Await());
  EXPECT_OK(other.Await());
}

TEST_F(SchedulerTest, ADrainPastItsDeadlineEndsWaits) {
  Start(1);
  uint32_t word = 0;
  Outcome& waiting = Submit(WaitingTask(MakeTask(1), word));
  const WorkItem& item = *backend_->launches()[0].items[0];
  const auto end = item.ordering.wait_end;
  std::thread drain([&] { scheduler_->Drain(clock_.Now()); });
  while (end->load() == WaitEnd::kNone) std::this_thread::yield();
  EXPECT_EQ(end->load(), WaitEnd::kDraining);
  CompleteAll();
  drain.join();
  EXPECT_OK(waiting.Await());
}

}  // namespace
}  // namespace winnow::server
