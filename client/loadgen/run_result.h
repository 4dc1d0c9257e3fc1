// What a run measured.

#ifndef WINNOW_CLIENT_LOADGEN_RUN_RESULT_H_
#define WINNOW_CLIENT_LOADGEN_RUN_RESULT_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "client/loadgen/latency_histogram.h"

namespace winnow::stress {

struct RunResult {
  absl::Duration elapsed;  // of what is counted
  int64_t ok = 0;
  int64_t not_sent = 0;  // an open loop had its bound in flight
  int64_t verified = 0;
  int64_t wrong = 0;
  std::string first_wrong;                    // what the check said
  std::map<std::string, int64_t> errors;      // by reason, or by code where there is none
  std::map<std::string, int64_t> unexpected;  // of these, what the mode does not explain
  std::map<std::string, std::string> texts;   // the first message of each of those
  // Open loop: from when a request was due, not from when it was sent: a server that stalls cannot
  // hide it. Closed loop: from the call. Of calls that ended Ok.
  LatencyHistogram latency;
  LatencyHistogram queue, launch, device;  // as the server says

  double rate() const { return static_cast<double>(ok) / absl::ToDoubleSeconds(elapsed); }
};

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_RUN_RESULT_H_
