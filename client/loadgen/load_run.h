// One run of load: sends requests, open loop or closed, and measures. Next: workload.h for what is
// sent, collector.h for where answers go, report.h for what comes out.

#ifndef WINNOW_CLIENT_LOADGEN_LOAD_RUN_H_
#define WINNOW_CLIENT_LOADGEN_LOAD_RUN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/loadgen/caller.h"
#include "client/loadgen/chaos.h"
#include "client/loadgen/run_result.h"
#include "client/loadgen/workload.h"

namespace winnow::stress {

struct RunOptions {
  // Requests a second, sent at the times of a schedule whatever the answers do (open loop); 0: so
  // many in flight at all times (closed loop). A workload with arrivals of its own is an open loop
  // of those.
  double rate = 0;
  double speed = 1;    // of the clock of a workload's own arrivals
  int in_flight = 16;  // closed loop; of an open one the bound, beyond which none is sent
  // At first the rate, or the number in flight, grows from nothing for so long; not with arrivals.
  absl::Duration ramp = absl::ZeroDuration();
  absl::Duration warm_up = absl::Seconds(1);  // after the ramp. Neither is counted
  absl::Duration duration = absl::Seconds(10);
  absl::Duration timeout = absl::Seconds(10);  // of a call
  double verify = 0.01;                        // share of results that are checked
  Chaos chaos = Chaos::kNone;
  std::string lease_name;  // of Chaos::kLease
  // The number of the device that its leases ask for; none: the server chooses.
  std::optional<int32_t> lease_device;
  uint64_t seed = 1;
};

// Called about once a second with what is there so far.
using Progress = std::function<void(absl::Duration elapsed, const RunResult& so_far)>;

// Blocks until every call has ended. `connect` makes a client; some chaos asks for more than one.
// An error when it fails.
absl::StatusOr<RunResult> RunLoad(const RunOptions& options, Workload& workload,
                                  const Connect& connect, const Progress& progress);

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_LOAD_RUN_H_
