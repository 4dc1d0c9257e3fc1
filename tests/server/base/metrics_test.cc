#include "server/base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace winnow::server {
namespace {

using ::testing::HasSubstr;

TEST(HistogramTest, AnObservationGoesToTheFirstBucketThatHoldsIt) {
  Histogram histogram({absl::Microseconds(10), absl::Microseconds(20)});
  histogram.Observe(absl::Microseconds(10));
  histogram.Observe(absl::Microseconds(11));
  histogram.Observe(absl::Microseconds(21));
  histogram.Observe(absl::Microseconds(-5));
  EXPECT_EQ(histogram.bucket_count(0), 2);
  EXPECT_EQ(histogram.bucket_count(1), 1);
  EXPECT_EQ(histogram.bucket_count(2), 1);
  EXPECT_EQ(histogram.count(), 4);
  EXPECT_EQ(histogram.sum(), absl::Microseconds(42));
}

TEST(HistogramTest, TheDefaultBucketsRunFromTenMicrosecondsToTenSeconds) {
  Histogram histogram({});
  EXPECT_EQ(histogram.bounds().front(), absl::Microseconds(10));
  EXPECT_EQ(histogram.bounds()[1], absl::Microseconds(20));
  EXPECT_EQ(histogram.bounds().back(), absl::Seconds(10));
  EXPECT_EQ(histogram.bounds().size(), 19u);
}

TEST(HistogramTest, QuantilesLieInsideTheBucketOfTheirRank) {
  Histogram histogram({absl::Microseconds(100), absl::Microseconds(200)});
  EXPECT_EQ(histogram.Quantile(0.5), absl::ZeroDuration());
  for (int i = 0; i < 50; ++i) histogram.Observe(absl::Microseconds(60));
  for (int i = 0; i < 50; ++i) histogram.Observe(absl::Microseconds(160));
  EXPECT_EQ(histogram.Quantile(0.25), absl::Microseconds(50));
  EXPECT_EQ(histogram.Quantile(0.5), absl::Microseconds(100));
  EXPECT_EQ(histogram.Quantile(0.75), absl::Microseconds(150));
  histogram.Observe(absl::Seconds(5));
  EXPECT_EQ(histogram.Quantile(1.0), absl::Microseconds(200));
}

TEST(MetricsRegistryTest, ACollectorGivesTheSeriesOfTheMoment) {
  MetricsRegistry registry;
  int leases = 2;
  registry.AddCollector(MetricsRegistry::CallbackKind::kGauge, "winnow_lease_bytes", "Bytes.",
                        [&leases] {
                          std::vector<MetricsRegistry::Sample> samples;
                          for (int i = 1; i <= leases; ++i) {
                            samples.push_back({{{"lease", std::to_string(i)}}, 10.0 * i});
                          }
                          return samples;
                        });
  const std::string head = "# HELP winnow_lease_bytes Bytes.\n# TYPE winnow_lease_bytes gauge\n";
  EXPECT_EQ(registry.Text(),
            head + "winnow_lease_bytes{lease=\"1\"} 10\nwinnow_lease_bytes{lease=\"2\"} 20\n");
  leases = 0;
  EXPECT_EQ(registry.Text(), head);
}

TEST(MetricsRegistryTest, TextIsThePrometheusFormat) {
  MetricsRegistry registry;
  registry.AddCounter("winnow_requests_total", "Requests.", {{"method", "TopK"}})->Add(3);
  registry.AddCounter("winnow_requests_total", "Requests.", {{"method", "Pla\"n\n"}})->Add(1);
  registry.AddGauge("winnow_queue_tasks", "Waiting.")->Set(-2);
  registry.AddCallback(MetricsRegistry::CallbackKind::kGauge, "winnow_ratio", "Read.", {},
                       [] { return 0.5; });
  registry.AddHistogram("winnow_seconds", "Time.", {{"stage", "queue"}}, {absl::Milliseconds(1)})
      ->Observe(absl::Microseconds(500));
  EXPECT_EQ(registry.Text(),
            "# HELP winnow_requests_total Requests.\n"
            "# TYPE winnow_requests_total counter\n"
            "winnow_requests_total{method=\"TopK\"} 3\n"
            "winnow_requests_total{method=\"Pla\\\"n\\n\"} 1\n"
            "# HELP winnow_queue_tasks Waiting.\n"
            "# TYPE winnow_queue_tasks gauge\n"
            "winnow_queue_tasks -2\n"
            "# HELP winnow_ratio Read.\n"
            "# TYPE winnow_ratio gauge\n"
            "winnow_ratio 0.5\n"
            "# HELP winnow_seconds Time.\n"
            "# TYPE winnow_seconds histogram\n"
            "winnow_seconds_bucket{stage=\"queue\",le=\"0.001\"} 1\n"
            "winnow_seconds_bucket{stage=\"queue\",le=\"+Inf\"} 1\n"
            "winnow_seconds_sum{stage=\"queue\"} 0.0005\n"
            "winnow_seconds_count{stage=\"queue\"} 1\n");
}

TEST(MetricsRegistryTest, LargeNumbersKeepAllTheirDigits) {
  MetricsRegistry registry;
  constexpr auto kCounter = MetricsRegistry::CallbackKind::kCounter;
  registry.AddCallback(kCounter, "winnow_rows_total", "Rows.", {}, [] { return 1234567891.0; });
  registry.AddCollector(kCounter, "winnow_bytes", "Bytes.", [] {
    return std::vector<MetricsRegistry::Sample>{{.value = 1099511627777.0}};
  });
  registry.AddHistogram("winnow_seconds", "Time.", {}, {absl::Milliseconds(1)})
      ->Observe(absl::Seconds(12345) + absl::Microseconds(678));
  EXPECT_THAT(registry.Text(), ::testing::AllOf(HasSubstr("winnow_rows_total 1234567891\n"),
                                                HasSubstr("winnow_bytes 1099511627777\n"),
                                                HasSubstr("winnow_seconds_sum 12345.000678\n")));
}

TEST(MetricsRegistryTest, TheSameNameAndLabelsGiveTheSameMetric) {
  MetricsRegistry registry;
  Counter* first = registry.AddCounter("a_total", "A.", {{"x", "1"}});
  EXPECT_EQ(registry.AddCounter("a_total", "A.", {{"x", "1"}}), first);
  EXPECT_NE(registry.AddCounter("a_total", "A.", {{"x", "2"}}), first);
}

TEST(MetricsRegistryTest, ConcurrentAdditionsAreAllCounted) {
  MetricsRegistry registry;
  Counter* counter = registry.AddCounter("a_total", "A.");
  Histogram* histogram = registry.AddHistogram("b_seconds", "B.");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        counter->Add();
        histogram->Observe(absl::Microseconds(i));
        if (i % 100 == 0) {
          EXPECT_THAT(registry.Text(), HasSubstr("b_seconds_count"));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter->value(), 4000);
  EXPECT_EQ(histogram->count(), 4000);
}

}  // namespace
}  // namespace winnow::server
