#include "client/loadgen/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace winnow::stress {
namespace {

TEST(LatencyHistogramTest, QuantilesAreWithinOnePartIn64OfTheTruth) {
  constexpr uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  LatencyHistogram histogram;
  std::vector<int64_t> values;
  for (int i = 0; i < 20000; ++i) {
    values.push_back(static_cast<int64_t>(random() >> (24 + random() % 40)));
    histogram.Record(absl::Nanoseconds(values.back()));
  }
  std::sort(values.begin(), values.end());
  for (const double quantile : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const int64_t truth = values[static_cast<size_t>(quantile * 20000) - 1];
    const int64_t shown = absl::ToInt64Nanoseconds(histogram.Quantile(quantile));
    EXPECT_GE(shown, truth) << quantile;
    EXPECT_LE(shown, truth + truth / 64 + 1) << quantile << " seed " << kSeed;
  }
  EXPECT_EQ(absl::ToInt64Nanoseconds(histogram.max()), values.back());
  EXPECT_EQ(histogram.Quantile(1), histogram.max());
}

TEST(LatencyHistogramTest, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (int nanos = 0; nanos < 128; ++nanos) histogram.Record(absl::Nanoseconds(nanos));
  EXPECT_EQ(histogram.Quantile(0.5), absl::Nanoseconds(63));
  EXPECT_EQ(histogram.mean(), absl::Nanoseconds(63.5));
}

TEST(LatencyHistogramTest, EmptyNegativeAndEndlessValuesAreBounded) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), absl::ZeroDuration());
  EXPECT_EQ(histogram.mean(), absl::ZeroDuration());
  histogram.Record(absl::Seconds(-1));
  histogram.Record(absl::InfiniteDuration());
  EXPECT_EQ(histogram.Quantile(0), absl::ZeroDuration());
  EXPECT_GT(histogram.max(), absl::Hours(9));
}

TEST(LatencyHistogramTest, TwoAddUp) {
  LatencyHistogram one, other;
  one.Record(absl::Microseconds(1));
  other.Record(absl::Microseconds(9));
  one.Add(other);
  EXPECT_EQ(one.count(), 2);
  EXPECT_EQ(one.max(), absl::Microseconds(9));
  EXPECT_EQ(one.mean(), absl::Microseconds(5));
}

}  // namespace
}  // namespace winnow::stress
