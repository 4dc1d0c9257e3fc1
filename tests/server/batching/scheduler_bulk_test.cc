// Bulk tasks: cut into bounded launches, between which small ones run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/batching/scheduler_fixture.h"

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using winnow::testing::FailsWith;

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

TEST_F(SchedulerTest, BulkWorkGivesWayWhileInteractiveWorkComes) {
  Start(1, {.interactive_rows = 4, .bulk_launch_rows = 30});
  Submit(MakeTask(1, 90));
  EXPECT_FALSE(backend_->launches()[0].gives_way) << "there was no interactive work";
  Submit(MakeTask(2));
  backend_->CompleteOldest();
  backend_->CompleteOldest();
  ASSERT_EQ(backend_->launches().size(), 3u);
  EXPECT_FALSE(backend_->launches()[1].gives_way) << "it is interactive itself";
  EXPECT_TRUE(backend_->launches()[2].gives_way);
  clock_.Advance(absl::Milliseconds(100));
  CompleteAll();
  EXPECT_FALSE(backend_->launches()[3].gives_way) << "none came for long";
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

}  // namespace
}  // namespace winnow::server
