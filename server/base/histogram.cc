#include <algorithm>

#include "server/base/metrics.h"

namespace winnow::server {
namespace {

std::vector<absl::Duration> OrDefaultBounds(std::vector<absl::Duration> bounds) {
  if (!bounds.empty()) return bounds;
  for (absl::Duration decade = absl::Microseconds(10); decade < absl::Seconds(10); decade *= 10) {
    for (const int step : {1, 2, 5}) bounds.push_back(decade * step);
  }
  bounds.push_back(absl::Seconds(10));
  return bounds;
}

std::vector<int64_t> ToNanos(const std::vector<absl::Duration>& bounds) {
  std::vector<int64_t> nanos;
  nanos.reserve(bounds.size());
  for (const absl::Duration bound : bounds) nanos.push_back(absl::ToInt64Nanoseconds(bound));
  return nanos;
}

}  // namespace

Histogram::Histogram(std::vector<absl::Duration> bounds)
    : bounds_(OrDefaultBounds(std::move(bounds))),
      bound_nanos_(ToNanos(bounds_)),
      lines_of_shard_((bounds_.size() + 2 + 7) / 8),
      lines_(std::make_unique<Line[]>(lines_of_shard_ * ShardedSum::kShards)) {}

void Histogram::Observe(absl::Duration duration) {
  const int64_t nanos = std::max<int64_t>(0, absl::ToInt64Nanoseconds(duration));
  const auto bucket = std::lower_bound(bound_nanos_.begin(), bound_nanos_.end(), nanos);
  const int shard = ShardedSum::ShardOfThisThread();
  Word(shard, 1 + (bucket - bound_nanos_.begin())).fetch_add(1, std::memory_order_relaxed);
  Word(shard, 0).fetch_add(nanos, std::memory_order_relaxed);
}

int64_t Histogram::SumOfShards(size_t word) const {
  int64_t sum = 0;
  for (int shard = 0; shard < ShardedSum::kShards; ++shard) {
    sum += Word(shard, word).load(std::memory_order_relaxed);
  }
  return sum;
}

int64_t Histogram::bucket_count(size_t index) const { return SumOfShards(1 + index); }

int64_t Histogram::count() const {
  int64_t total = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) total += bucket_count(i);
  return total;
}

absl::Duration Histogram::sum() const { return absl::Nanoseconds(SumOfShards(0)); }

absl::Duration Histogram::Quantile(double quantile) const {
  // One reading of each bucket, so that observations which arrive meanwhile cannot shift the total.
  std::vector<int64_t> counts(bounds_.size() + 1);
  int64_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) total += counts[i] = bucket_count(i);
  if (total == 0) return absl::ZeroDuration();
  const double rank = std::clamp(quantile, 0.0, 1.0) * static_cast<double>(total);
  int64_t below = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    if (counts[i] > 0 && static_cast<double>(below + counts[i]) >= rank) {
      const absl::Duration low = i == 0 ? absl::ZeroDuration() : bounds_[i - 1];
      const double part = (rank - static_cast<double>(below)) / static_cast<double>(counts[i]);
      return low + (bounds_[i] - low) * std::max(0.0, part);
    }
    below += counts[i];
  }
  return bounds_.back();
}

}  // namespace winnow::server
