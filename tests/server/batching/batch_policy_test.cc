#include "server/batching/batch_policy.h"

#include <gtest/gtest.h>

namespace winnow::server {
namespace {

const SchedulerOptions kOptions = {
    .max_bulk_launches = 1, .max_interactive_launches = 2, .interactive_per_bulk = 3};

TEST(BatchPolicyTest, NothingIsLaunchedWithoutASlotOrWork) {
  EXPECT_EQ(ChooseNextLaunch(kOptions, {.free_slots = 0, .interactive_tasks = 5, .bulk_tasks = 5}),
            NextLaunch::kNone);
  EXPECT_EQ(ChooseNextLaunch(kOptions, {.free_slots = 4}), NextLaunch::kNone);
}

TEST(BatchPolicyTest, InteractiveWorkGoesFirst) {
  EXPECT_EQ(ChooseNextLaunch(kOptions, {.free_slots = 1, .interactive_tasks = 1, .bulk_tasks = 9}),
            NextLaunch::kInteractive);
  EXPECT_EQ(ChooseNextLaunch(kOptions, {.free_slots = 1, .bulk_tasks = 9}), NextLaunch::kBulk);
}

TEST(BatchPolicyTest, BulkWorkLeavesSlotsToInteractiveWork) {
  EXPECT_EQ(ChooseNextLaunch(kOptions, {.free_slots = 3, .bulk_tasks = 9, .bulk_launches = 1}),
            NextLaunch::kNone);
}

TEST(BatchPolicyTest, BulkWorkIsNotStarved) {
  QueueSnapshot snapshot{.free_slots = 1, .interactive_tasks = 9, .bulk_tasks = 1};
  snapshot.interactive_since_bulk = 2;
  EXPECT_EQ(ChooseNextLaunch(kOptions, snapshot), NextLaunch::kInteractive);
  snapshot.interactive_since_bulk = 3;
  EXPECT_EQ(ChooseNextLaunch(kOptions, snapshot), NextLaunch::kBulk);
  snapshot.bulk_launches = 1;
  EXPECT_EQ(ChooseNextLaunch(kOptions, snapshot), NextLaunch::kInteractive);
}

TEST(BatchPolicyTest, InteractiveWorkWaitsForAnotherLaunchRatherThanTakeEverySlot) {
  QueueSnapshot snapshot{.free_slots = 3, .interactive_tasks = 5, .interactive_launches = 1};
  EXPECT_EQ(ChooseNextLaunch(kOptions, snapshot), NextLaunch::kInteractive);
  snapshot.interactive_launches = 2;
  EXPECT_EQ(ChooseNextLaunch(kOptions, snapshot), NextLaunch::kNone);
}

TEST(BatchPolicyTest, BulkWorkTakesItsOwnSlotWhileInteractiveWorkWaitsForItsTurn) {
  QueueSnapshot snapshot{
      .free_slots = 2, .interactive_tasks = 5, .interactive_launches = 2, .bulk_tasks = 1};
  EXPECT_EQ(ChooseNextLaunch(kOptions, snapshot), NextLaunch::kBulk);
  snapshot.bulk_launches = 1;
  EXPECT_EQ(ChooseNextLaunch(kOptions, snapshot), NextLaunch::kNone);
}

TEST(BatchPolicyTest, RowsAndBytesDecideTheClass) {
  const SchedulerOptions options{.interactive_rows = 64, .interactive_bytes = 1000};
  EXPECT_EQ(ClassOf(options, 64, 1000), TaskClass::kInteractive);
  EXPECT_EQ(ClassOf(options, 65, 10), TaskClass::kBulk);
  EXPECT_EQ(ClassOf(options, 1, 1001), TaskClass::kBulk);
}

}  // namespace
}  // namespace winnow::server
