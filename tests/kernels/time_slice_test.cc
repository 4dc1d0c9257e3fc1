#include "winnow/kernels/time_slice.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace winnow {
namespace {

// Of struct sched_attr, in its first version; 0 from kernels that know no slices.
uint64_t SliceOfThisThread() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return 0;
  return attributes.runtime;
}

TEST(TimeSliceTest, AThreadThatAsksGetsLongerSlicesAndNoOtherDoes) {
  const uint64_t before = SliceOfThisThread();
  uint64_t after = 0;
  bool taken = false;
  std::thread([&] {
    taken = AskForLongTimeSlices();
    after = SliceOfThisThread();
  }).join();
  if (!taken) GTEST_SKIP() << "this kernel knows no time slices, or refuses to change them";
  EXPECT_GT(after, before);
  EXPECT_EQ(SliceOfThisThread(), before);
}

TEST(TimeSliceTest, AThreadThatAsksGetsShorterSlices) {
  const uint64_t before = SliceOfThisThread();
  uint64_t after = 0;
  bool taken = false;
  std::thread([&] {
    taken = AskForShortTimeSlices();
    after = SliceOfThisThread();
  }).join();
  if (!taken) GTEST_SKIP() << "this kernel knows no time slices, or refuses to change them";
  EXPECT_LT(after, before);
  EXPECT_EQ(SliceOfThisThread(), before);
}

TEST(TimeSliceTest, AThreadThatItStartsHasUsualSlices) {
  const uint64_t usual = SliceOfThisThread();
  uint64_t after = 0;
  bool taken = false;
  std::thread([&] {
    taken = AskForLongTimeSlices();
    std::thread([&] { after = SliceOfThisThread(); }).join();
  }).join();
  if (!taken) GTEST_SKIP() << "this kernel knows no time slices, or refuses to change them";
  EXPECT_EQ(after, usual);
}

// Computes until the turn is over, or for a second.
bool TurnEnds() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end) {
    if (GivingWay::EndTurnIfDue()) return true;
  }
  return false;
}

TEST(GivingWayTest, TurnsEndWhileItLives) {
  {
    const auto before = std::chrono::steady_clock::now();
    const GivingWay giving_way(true);
    EXPECT_TRUE(GivingWay::Here());
    const bool ended = GivingWay::EndTurnIfDue();
    // Else this thread lost its core meanwhile, and its turn may be over.
    if (std::chrono::steady_clock::now() - before < std::chrono::microseconds(100)) {
      EXPECT_FALSE(ended) << "the turn has just begun";
    }
    EXPECT_TRUE(TurnEnds());
  }
  EXPECT_FALSE(GivingWay::Here());
  EXPECT_FALSE(GivingWay::EndTurnIfDue());
}

TEST(GivingWayTest, TheLastOneDecidesAndIsOfItsThread) {
  const GivingWay outer(true);
  {
    const GivingWay inner(false);
    EXPECT_FALSE(GivingWay::Here());
  }
  EXPECT_TRUE(GivingWay::Here());
  bool elsewhere = true;
  std::thread([&] { elsewhere = GivingWay::Here(); }).join();
  EXPECT_FALSE(elsewhere);
}

}  // namespace
}  // namespace winnow
