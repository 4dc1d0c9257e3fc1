#include "client/loadgen/schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace winnow::stress {
namespace {

const absl::Time kBegin = absl::FromUnixSeconds(1000);
const std::vector<absl::Duration> kNoArrivals;

// Evenly spaced.
absl::Duration Gap(double rate) { return absl::Seconds(1 / rate); }

TEST(ScheduleTest, AClosedLoopHasABoundAndNoTimes) {
  const RunOptions options{.in_flight = 16};
  const Schedule schedule(options, kNoArrivals, absl::ZeroDuration(), kBegin);
  EXPECT_FALSE(schedule.is_open());
  EXPECT_EQ(schedule.Bound(kBegin), 16);
}

TEST(ScheduleTest, AClosedLoopGrowsFromOneInFlightOverTheRamp) {
  const RunOptions options{.in_flight = 16, .ramp = absl::Seconds(10)};
  const Schedule schedule(options, kNoArrivals, absl::ZeroDuration(), kBegin);
  EXPECT_EQ(schedule.Bound(kBegin), 1);
  EXPECT_EQ(schedule.Bound(kBegin + absl::Seconds(5)), 8);
  EXPECT_EQ(schedule.Bound(kBegin + absl::Seconds(10)), 16);
  EXPECT_EQ(schedule.Bound(kBegin + absl::Seconds(11)), 16);
}

TEST(ScheduleTest, AnOpenLoopOwesRequestsAtItsRate) {
  const RunOptions options{.rate = 100, .in_flight = 7, .ramp = absl::ZeroDuration()};
  Schedule schedule(options, kNoArrivals, absl::ZeroDuration(), kBegin);
  EXPECT_TRUE(schedule.is_open());
  EXPECT_EQ(schedule.due(), kBegin);
  schedule.Advance(Gap);
  schedule.Advance(Gap);
  EXPECT_EQ(schedule.due(), kBegin + absl::Milliseconds(20));
  EXPECT_EQ(schedule.Bound(kBegin), 7) << "all of it at once: the rate grows, not the bound";
}

TEST(ScheduleTest, ARateGrowsWithWhatIsDueOverTheRamp) {
  const RunOptions options{.rate = 100, .ramp = absl::Seconds(10)};
  Schedule schedule(options, kNoArrivals, absl::ZeroDuration(), kBegin);
  std::vector<double> rates;
  for (int i = 0; i < 3; ++i) {
    schedule.Advance([&](double rate) {
      rates.push_back(rate);
      return absl::Seconds(5);
    });
  }
  EXPECT_EQ(rates, (std::vector<double>{2, 50, 100}));
}

TEST(ScheduleTest, ArrivalsAreRepeatedEachPeriodOnAClockOfTheirOwnSpeed) {
  const RunOptions options{.speed = 2, .in_flight = 5, .ramp = absl::Seconds(10)};
  const std::vector<absl::Duration> arrivals = {absl::Seconds(1), absl::Seconds(3)};
  Schedule schedule(options, arrivals, absl::Seconds(4), kBegin);
  EXPECT_TRUE(schedule.is_open());
  std::vector<absl::Duration> due;
  for (int i = 0; i < 5; ++i) {
    due.push_back(schedule.due() - kBegin);
    schedule.Advance([](double) -> absl::Duration {
      ADD_FAILURE() << "arrivals need no gaps";
      return absl::ZeroDuration();
    });
  }
  EXPECT_EQ(due,
            (std::vector<absl::Duration>{absl::Seconds(0.5), absl::Seconds(1.5), absl::Seconds(2.5),
                                         absl::Seconds(3.5), absl::Seconds(4.5)}));
}

}  // namespace
}  // namespace winnow::stress
