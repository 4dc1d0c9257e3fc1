// One run of load: sends requests, open loop or closed, and measures. Next: workload.h for what is
// sent, report.h for what comes out.

#ifndef WINNOW_CLIENT_LOADGEN_LOAD_RUN_H_
#define WINNOW_CLIENT_LOADGEN_LOAD_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/loadgen/latency_histogram.h"
#include "client/loadgen/workload.h"
#include "winnow/client/client.h"

namespace winnow::stress {

// What a run does to the server besides asking it.
enum class Chaos {
  kNone,
  kCancel,     // a third of the calls is cancelled, up to 2 ms after it was sent
  kDeadline,   // half of the calls has a deadline of 50 us to 2 ms
  kMalformed,  // half of the requests is invalid and must be refused as such
  kChurn,      // a new connection for every 20 requests
};
absl::StatusOr<Chaos> ParseChaos(absl::string_view name);

struct RunOptions {
  // Requests a second, sent at the times of a schedule whatever the answers do (open loop); 0: so
  // many in flight at all times (closed loop).
  double rate = 0;
  int in_flight = 16;  // closed loop; of an open one the bound, beyond which none is sent
  absl::Duration warm_up = absl::Seconds(1);  // sent and not counted
  absl::Duration duration = absl::Seconds(10);
  absl::Duration timeout = absl::Seconds(10);  // of a call
  double verify = 0.01;                        // share of results that are checked
  Chaos chaos = Chaos::kNone;
  uint64_t seed = 1;
};

struct RunResult {
  absl::Duration elapsed;  // of what is counted
  int64_t ok = 0;
  int64_t not_sent = 0;  // an open loop had its bound in flight
  int64_t verified = 0;
  int64_t wrong = 0;
  std::string first_wrong;                    // what the check said
  std::map<std::string, int64_t> errors;      // by reason, or by code where there is none
  std::map<std::string, int64_t> unexpected;  // of these, what the mode does not explain
  // Open loop: from when a request was due, not from when it was sent: a server that stalls cannot
  // hide it. Closed loop: from the call. Of calls that ended Ok.
  LatencyHistogram latency;
  LatencyHistogram queue, launch, device;  // as the server says

  double rate() const { return static_cast<double>(ok) / absl::ToDoubleSeconds(elapsed); }
};

// Called about once a second with what is there so far.
using Progress = std::function<void(absl::Duration elapsed, const RunResult& so_far)>;

// Blocks until every call has ended. `connect` makes a client; more than one with Chaos::kChurn.
// An error when it fails.
absl::StatusOr<RunResult> RunLoad(const RunOptions& options, Workload& workload,
                                  const std::function<absl::StatusOr<client::Client>()>& connect,
                                  const Progress& progress);

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_LOAD_RUN_H_
