// What a run sends: requests of a mix in random order, or those of a trace in theirs, all made
// before the run from a seed. Next: load_run.h.

#ifndef WINNOW_CLIENT_LOADGEN_WORKLOAD_H_
#define WINNOW_CLIENT_LOADGEN_WORKLOAD_H_

#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/loadgen/sample.h"
#include "client/loadgen/shape.h"
#include "client/loadgen/trace.h"

namespace winnow::stress {

// Thread safety: Next from one thread.
class Workload {
 public:
  // `samples_per_shape` samples of each shape, so that sending costs no time of its own. The error
  // is that of a file of scores.
  static absl::StatusOr<Workload> OfMix(std::vector<Shape> mix, Pattern pattern, uint64_t seed,
                                        int samples_per_shape = 8);
  // One sample for each request. Requests of the same sizes share their scores, of which two
  // matrices are made. InvalidArgument when all scores together are more than 4 GiB.
  static absl::StatusOr<Workload> OfTrace(const Trace& trace, Pattern pattern, uint64_t seed);

  const Sample& Next();

  // When each request of a trace is due, from the start; it begins again after `period`. Empty for
  // a mix.
  const std::vector<absl::Duration>& arrivals() const { return arrivals_; }
  absl::Duration period() const { return period_; }

 private:
  explicit Workload(uint64_t seed) : random_(seed) {}

  std::mt19937_64 random_;
  std::discrete_distribution<size_t> choice_;  // of a group of samples
  std::vector<std::vector<Sample>> samples_;   // of a trace one group
  std::vector<absl::Duration> arrivals_;
  absl::Duration period_;
  size_t next_ = 0;
};

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_WORKLOAD_H_
