// Latencies with a bounded relative error: a histogram whose buckets grow with the value, as HDR
// histograms do. From 1 ns to hours; two of them add up.

#ifndef WINNOW_CLIENT_LOADGEN_LATENCY_HISTOGRAM_H_
#define WINNOW_CLIENT_LOADGEN_LATENCY_HISTOGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace winnow::stress {

// Thread safety: as a standard container.
class LatencyHistogram {
 public:
  // Values of one bucket differ by at most 1 part in 64.
  LatencyHistogram();

  // Negative durations count as 0.
  void Record(absl::Duration latency);
  void Add(const LatencyHistogram& other);

  int64_t count() const { return count_; }
  absl::Duration mean() const;  // 0 without values
  absl::Duration max() const { return absl::Nanoseconds(max_nanos_); }
  // The upper end of the bucket that holds the value of that rank; `quantile` is 0 to 1. 0 without
  // values, and never above max().
  absl::Duration Quantile(double quantile) const;

 private:
  std::vector<int64_t> buckets_;
  int64_t count_ = 0;
  int64_t max_nanos_ = 0;
  double sum_nanos_ = 0;
};

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_LATENCY_HISTOGRAM_H_
