#include "server/batching/flow_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr absl::Time kNow = absl::UnixEpoch();
constexpr BatchLimits kOneItem{.items = 1, .rows = 1 << 20, .bytes = 1 << 30};
constexpr BatchLimits kManyItems{.items = 1000, .rows = 1 << 20, .bytes = 1 << 30};

class FlowQueueTest : public ::testing::Test {
 protected:
  FlowQueue::Entry* Push(int64_t flow, absl::Duration deadline = absl::InfiniteDuration(),
                         std::string key = "a", int64_t rows = 1, int64_t bytes = 1000,
                         bool divisible = false, int32_t weight = 1) {
    auto entry = std::make_unique<FlowQueue::Entry>();
    entry->flow_id = flow;
    entry->flow_weight = weight;
    entry->deadline = kNow + deadline;
    entry->sequence = static_cast<int64_t>(entries_.size());
    entry->key = std::move(key);
    entry->rows = rows;
    entry->bytes = bytes;
    entry->divisible = divisible;
    queue_.Push(entry.get());
    entries_.push_back(std::move(entry));
    return entries_.back().get();
  }

  // Flows of the entries taken, one at a time.
  std::vector<int64_t> TakeFlows(int count) {
    std::vector<int64_t> flows;
    for (int i = 0; i < count; ++i) {
      for (const auto& part : queue_.Take(kOneItem, kNow, expired_)) {
        flows.push_back(part.entry->flow_id);
      }
    }
    return flows;
  }

  std::vector<FlowQueue::Entry*> TakeAll(const BatchLimits& limits) {
    std::vector<FlowQueue::Entry*> taken;
    for (const auto& part : queue_.Take(limits, kNow, expired_)) taken.push_back(part.entry);
    return taken;
  }

  std::vector<std::unique_ptr<FlowQueue::Entry>> entries_;
  std::vector<FlowQueue::Entry*> expired_;
  FlowQueue queue_;
};

TEST_F(FlowQueueTest, FlowsTakeTurnsHoweverManyTasksOneHas) {
  for (int i = 0; i < 10; ++i) Push(1);
  for (int i = 0; i < 3; ++i) Push(2);
  const auto flows = TakeFlows(6);
  EXPECT_EQ(std::count(flows.begin(), flows.end(), 1), 3);
  EXPECT_EQ(std::count(flows.begin(), flows.end(), 2), 3);
}

TEST_F(FlowQueueTest, AFlowOfThriceTheWeightGetsThriceTheService) {
  for (int i = 0; i < 40; ++i) {
    Push(1, absl::InfiniteDuration(), "a", 1, 1000, false, 3);
    Push(2);
  }
  const auto flows = TakeFlows(40);
  EXPECT_EQ(std::count(flows.begin(), flows.end(), 1), 30);
}

TEST_F(FlowQueueTest, LargeTasksCountForMoreThanSmallOnes) {
  for (int i = 0; i < 40; ++i) {
    Push(1, absl::InfiniteDuration(), "a", 1, 1'000'000);
    Push(2, absl::InfiniteDuration(), "a", 1, 100'000);
  }
  const auto flows = TakeFlows(33);
  EXPECT_NEAR(std::count(flows.begin(), flows.end(), 1), 3, 1);
}

TEST_F(FlowQueueTest, AFlowThatReturnsHasNoClaimToTheTimeItWasAway) {
  Push(1);
  Push(2);
  TakeFlows(2);
  for (int i = 0; i < 20; ++i) Push(1);
  TakeFlows(10);
  for (int i = 0; i < 10; ++i) Push(2);
  const auto flows = TakeFlows(6);
  EXPECT_NEAR(std::count(flows.begin(), flows.end(), 2), 3, 1);
}

TEST_F(FlowQueueTest, TheEarliestDeadlineOfAFlowGoesFirstThenTheOldest) {
  FlowQueue::Entry* late = Push(1, absl::Seconds(9));
  FlowQueue::Entry* never = Push(1);
  FlowQueue::Entry* soon = Push(1, absl::Seconds(1), "b");
  FlowQueue::Entry* late_too = Push(1, absl::Seconds(9));
  EXPECT_THAT(TakeAll(kOneItem), ElementsAre(soon));
  EXPECT_THAT(TakeAll(kOneItem), ElementsAre(late));
  EXPECT_THAT(TakeAll(kOneItem), ElementsAre(late_too));
  EXPECT_THAT(TakeAll(kOneItem), ElementsAre(never));
  EXPECT_THAT(TakeAll(kOneItem), IsEmpty());
}

TEST_F(FlowQueueTest, TasksOfOneKeyGoTogetherFromAllFlows) {
  FlowQueue::Entry* a1 = Push(1);
  FlowQueue::Entry* b = Push(1, absl::InfiniteDuration(), "b");
  FlowQueue::Entry* a2 = Push(2);
  FlowQueue::Entry* a3 = Push(3);
  EXPECT_THAT(TakeAll(kManyItems), UnorderedElementsAre(a1, a2, a3));
  EXPECT_THAT(TakeAll(kManyItems), ElementsAre(b));
}

TEST_F(FlowQueueTest, ABatchKeepsToItsLimits) {
  for (int i = 0; i < 10; ++i) Push(i, absl::InfiniteDuration(), "a", 4, 100);
  EXPECT_EQ(TakeAll({.items = 3, .rows = 1000, .bytes = 10000}).size(), 3u);
  EXPECT_EQ(TakeAll({.items = 100, .rows = 11, .bytes = 10000}).size(), 2u);
  EXPECT_EQ(TakeAll({.items = 100, .rows = 1000, .bytes = 199}).size(), 1u);
  EXPECT_EQ(queue_.size(), 4);
}

TEST_F(FlowQueueTest, ATaskOverTheLimitsThatCannotBeCutIsTakenAlone) {
  FlowQueue::Entry* large = Push(1, absl::Seconds(1), "a", 100, 100);
  Push(1);
  EXPECT_THAT(TakeAll({.items = 9, .rows = 10, .bytes = 1000}), ElementsAre(large));
}

TEST_F(FlowQueueTest, ADivisibleTaskIsTakenInPartsThatCoverItOnce) {
  Push(1, absl::InfiniteDuration(), "a", 100, 100'000, true);
  int64_t next_row = 0;
  for (const int64_t rows : {30, 30, 30, 10}) {
    const auto parts = queue_.Take({.items = 9, .rows = 30, .bytes = 1 << 20}, kNow, expired_);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].first_row, next_row);
    EXPECT_EQ(parts[0].rows, rows);
    EXPECT_EQ(parts[0].last, rows == 10);
    next_row += rows;
  }
  EXPECT_EQ(queue_.size(), 0);
}

TEST_F(FlowQueueTest, TheRestOfADivisibleTaskSharesItsLaunchWithTheNext) {
  FlowQueue::Entry* first = Push(1, absl::Seconds(1), "a", 10, 10'000, true);
  FlowQueue::Entry* second = Push(1, absl::Seconds(2), "a", 10, 10'000, true);
  const auto parts = queue_.Take({.items = 9, .rows = 14, .bytes = 1 << 20}, kNow, expired_);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].entry, first);
  EXPECT_TRUE(parts[0].last);
  EXPECT_EQ(parts[1].entry, second);
  EXPECT_EQ(parts[1].rows, 4);
  EXPECT_FALSE(parts[1].last);
  EXPECT_TRUE(second->queued());
}

TEST_F(FlowQueueTest, ARowLargerThanTheLimitIsStillTaken) {
  Push(1, absl::InfiniteDuration(), "a", 3, 3'000'000, true);
  const auto parts = queue_.Take({.items = 9, .rows = 30, .bytes = 100}, kNow, expired_);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].rows, 1);
}

TEST_F(FlowQueueTest, ExpiredTasksAreNotTaken) {
  FlowQueue::Entry* expired = Push(1, absl::ZeroDuration());
  FlowQueue::Entry* good = Push(1, absl::Seconds(1));
  EXPECT_EQ(queue_.NextDeadline(), kNow);
  EXPECT_THAT(TakeAll(kManyItems), ElementsAre(good));
  EXPECT_THAT(expired_, ElementsAre(expired));
}

TEST_F(FlowQueueTest, TasksLeaveTheQueueByDeadlineByFlowOrAllAtOnce) {
  FlowQueue::Entry* soon = Push(1, absl::Seconds(1));
  FlowQueue::Entry* of_two = Push(2, absl::Seconds(5), "b");
  FlowQueue::Entry* last = Push(3);
  EXPECT_THAT(queue_.RemoveExpired(kNow + absl::Seconds(1)), ElementsAre(soon));
  EXPECT_EQ(queue_.NextDeadline(), kNow + absl::Seconds(5));
  EXPECT_THAT(queue_.RemoveFlow(2), ElementsAre(of_two));
  EXPECT_THAT(queue_.RemoveFlow(2), IsEmpty());
  EXPECT_EQ(queue_.NextDeadline(), absl::InfiniteFuture());
  EXPECT_THAT(queue_.RemoveAll(), ElementsAre(last));
  EXPECT_EQ(queue_.size(), 0);
  EXPECT_FALSE(last->queued());
}

TEST_F(FlowQueueTest, RandomUseLosesAndRepeatsNothing) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::map<FlowQueue::Entry*, int64_t> rows_left;
  for (int i = 0; i < 20000; ++i) {
    const auto kind = random() % 10;
    if (kind < 5) {
      const int64_t rows = 1 + random() % 50;
      rows_left[Push(random() % 400, absl::Seconds(random() % 50),
                     std::string(1, 'a' + random() % 3), rows, rows * 100, random() % 2 == 0,
                     1 + random() % 3)] = rows;
    } else if (kind < 9) {
      expired_.clear();
      const BatchLimits limits{.items = 1 + static_cast<int32_t>(random() % 8),
                               .rows = 40,
                               .bytes = 1 + static_cast<int64_t>(random() % 4000)};
      for (const auto& part : queue_.Take(limits, kNow, expired_)) {
        ASSERT_GE(rows_left[part.entry] -= part.rows, 0);
        if (part.last) {
          ASSERT_EQ(rows_left[part.entry], 0);
          rows_left.erase(part.entry);
        }
      }
      for (FlowQueue::Entry* entry : expired_) ASSERT_EQ(rows_left.erase(entry), 1u);
    } else if (!rows_left.empty()) {
      FlowQueue::Entry* entry = rows_left.begin()->first;
      queue_.Remove(entry);
      rows_left.erase(entry);
    }
    ASSERT_EQ(queue_.size(), static_cast<int64_t>(rows_left.size()));
  }
}

}  // namespace
}  // namespace winnow::server
