// When the requests of a run are due, and how many of them may be in flight. Next: load_run.cc for
// who sends by it.

#ifndef WINNOW_CLIENT_LOADGEN_SCHEDULE_H_
#define WINNOW_CLIENT_LOADGEN_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "client/loadgen/load_run.h"

namespace winnow::stress {

// Thread safety: one thread. Looks at no clock.
class Schedule {
 public:
  // `arrivals`, which may be empty, are a workload's own, repeated each `period`; they and
  // `options` outlive the schedule. `begin` is the start of the run, its ramp included.
  Schedule(const RunOptions& options, const std::vector<absl::Duration>& arrivals,
           absl::Duration period, absl::Time begin);

  // Whether requests are due at times of their own, whatever the answers do.
  bool is_open() const { return options_.rate > 0 || !arrivals_.empty(); }
  // Of an open loop: when the next request is due.
  absl::Time due() const { return due_; }

  // That request was sent, or given up. `gap` gives the time to the next one at a rate; it is not
  // called for a workload with arrivals.
  void Advance(absl::FunctionRef<absl::Duration(double rate)> gap);

  // As many requests may be in flight.
  int64_t Bound(absl::Time now) const;

 private:
  // Of the load, while it grows: 2 % to 1.
  double Share(absl::Time now) const;

  const RunOptions& options_;
  const std::vector<absl::Duration>& arrivals_;
  const absl::Duration period_;
  const absl::Time begin_;
  absl::Time due_;
  size_t next_ = 0;
};

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_SCHEDULE_H_
