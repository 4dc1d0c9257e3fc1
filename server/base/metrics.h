// Counters, gauges and histograms of the server, and their text form for Prometheus. Metrics are
// registered while the server starts; afterwards adding to one is a few relaxed atomic operations.

#ifndef WINNOW_SERVER_BASE_METRICS_H_
#define WINNOW_SERVER_BASE_METRICS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace winnow::server {

// Pairs of label and value, in the order in which they are shown.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// A sum in parts, each of which some of the threads add to: one word would go from core to core
// with every request. Thread safety: lock-free from several threads; a reader may miss what is
// being added, and sees what the threads did before that whose additions it counts.
class ShardedSum {
 public:
  static constexpr int kShards = 8;
  // The part of the calling thread, 0 to kShards - 1.
  static int ShardOfThisThread();

  void Add(int64_t amount) {
    shards_[ShardOfThisThread()].value.fetch_add(amount, std::memory_order_release);
  }
  int64_t value() const;

 private:
  struct alignas(64) Shard {
    std::atomic<int64_t> value{0};
  };
  Shard shards_[kShards];
};

// Only grows. Thread safety: lock-free from several threads, as for Gauge and Histogram.
class Counter {
 public:
  void Add(int64_t amount = 1) { sum_.Add(amount); }
  int64_t value() const { return sum_.value(); }

 private:
  ShardedSum sum_;
};

class Gauge {
 public:
  void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(int64_t amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Distribution of durations. An observation belongs to the first bucket whose bound is not below
// it.
class Histogram {
 public:
  // Ascending upper bounds. Empty: 10 us to 10 s in steps of 1, 2, 5.
  explicit Histogram(std::vector<absl::Duration> bounds);

  // Negative durations count as 0.
  void Observe(absl::Duration duration);

  int64_t count() const;
  absl::Duration sum() const;
  // Estimated by a straight line inside its bucket; the largest bound for what lies above all of
  // them, 0 without observations. `quantile` is 0 to 1.
  absl::Duration Quantile(double quantile) const;

  absl::Span<const absl::Duration> bounds() const { return bounds_; }
  // Observations of bucket `index`, not cumulative; index bounds().size() holds those above all.
  int64_t bucket_count(size_t index) const;

 private:
  // A line of a cache.
  struct alignas(64) Line {
    std::atomic<int64_t> words[8];
  };
  // A shard (ShardedSum) has lines of its own: the sum in nanoseconds, then the buckets.
  std::atomic<int64_t>& Word(int shard, size_t word) const {
    return lines_[shard * lines_of_shard_ + word / 8].words[word % 8];
  }
  int64_t SumOfShards(size_t word) const;

  const std::vector<absl::Duration> bounds_;
  const std::vector<int64_t> bound_nanos_;
  const size_t lines_of_shard_;
  const std::unique_ptr<Line[]> lines_;
};

// Owns metrics; they live as long as it does. Metrics of one name form a family with one help text
// and differ in their labels. Thread safety: safe to call from several threads.
class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;

  // Names follow Prometheus ("winnow_requests_total", "winnow_request_duration_seconds"). The same
  // name and labels again give the same metric.
  Counter* AddCounter(absl::string_view name, absl::string_view help, MetricLabels labels = {});
  Gauge* AddGauge(absl::string_view name, absl::string_view help, MetricLabels labels = {});
  Histogram* AddHistogram(absl::string_view name, absl::string_view help, MetricLabels labels = {},
                          std::vector<absl::Duration> bounds = {});

  enum class CallbackKind { kCounter, kGauge };
  // A value that lives elsewhere, asked for by Text(). `read` must be safe to call at any time
  // until the registry is destroyed, and must not use the registry.
  void AddCallback(CallbackKind kind, absl::string_view name, absl::string_view help,
                   MetricLabels labels, absl::AnyInvocable<double() const> read);

  struct Sample {
    MetricLabels labels;
    double value = 0;
  };
  // A family whose series come and go, leases say: `read` gives those of the moment, on the same
  // terms as a callback's.
  void AddCollector(CallbackKind kind, absl::string_view name, absl::string_view help,
                    absl::AnyInvocable<std::vector<Sample>() const> read);

  // Exposition format 0.0.4, families in the order of registration.
  std::string Text() const;

 private:
  struct Family;
  struct Series;
  Series& FindOrAdd(absl::string_view name, absl::string_view help, absl::string_view type,
                    MetricLabels labels) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Family& FindOrAddFamily(absl::string_view name, absl::string_view help, absl::string_view type)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void AppendSeries(absl::string_view name, const Series& series, std::string& text);

  mutable absl::Mutex mu_;
  std::vector<std::unique_ptr<Family>> families_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BASE_METRICS_H_
