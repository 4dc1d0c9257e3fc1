#include "client/loadgen/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace winnow::stress {
namespace {

// Below 128 ns a bucket for each; above, 64 for each doubling.
constexpr int kSubBits = 6;
constexpr int64_t kSubBuckets = int64_t{1} << kSubBits;
constexpr int kMaxBits = 45;  // about ten hours

size_t IndexOf(int64_t nanos) {
  const int bits = std::bit_width(static_cast<uint64_t>(nanos));
  const int shift = std::max(0, bits - kSubBits - 1);
  return static_cast<size_t>(shift * kSubBuckets + (nanos >> shift));
}

int64_t UpperEnd(size_t index) {
  if (index < 2 * kSubBuckets) return static_cast<int64_t>(index);
  const int64_t shift = static_cast<int64_t>(index) / kSubBuckets - 1;
  const int64_t part = static_cast<int64_t>(index) - shift * kSubBuckets;
  return ((part + 1) << shift) - 1;
}

constexpr int64_t kMaxNanos = (int64_t{1} << kMaxBits) - 1;

}  // namespace

LatencyHistogram::LatencyHistogram() : buckets_(IndexOf(kMaxNanos) + 1) {}

void LatencyHistogram::Record(absl::Duration latency) {
  const int64_t nanos = std::clamp<int64_t>(absl::ToInt64Nanoseconds(latency), 0, kMaxNanos);
  ++buckets_[IndexOf(nanos)];
  ++count_;
  sum_nanos_ += static_cast<double>(nanos);
  max_nanos_ = std::max(max_nanos_, nanos);
}

void LatencyHistogram::Add(const LatencyHistogram& other) {
  for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_nanos_ += other.sum_nanos_;
  max_nanos_ = std::max(max_nanos_, other.max_nanos_);
}

absl::Duration LatencyHistogram::mean() const {
  return count_ == 0 ? absl::ZeroDuration()
                     : absl::Nanoseconds(sum_nanos_ / static_cast<double>(count_));
}

absl::Duration LatencyHistogram::Quantile(double quantile) const {
  if (count_ == 0) return absl::ZeroDuration();
  const double share = std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count_);
  const int64_t rank = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(share)));
  int64_t below = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    below += buckets_[i];
    if (below >= rank) return absl::Nanoseconds(std::min(UpperEnd(i), max_nanos_));
  }
  return max();
}

}  // namespace winnow::stress
