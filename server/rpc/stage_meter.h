// Where the time of one method's requests goes: a histogram for each stage.

#ifndef WINNOW_SERVER_RPC_STAGE_METER_H_
#define WINNOW_SERVER_RPC_STAGE_METER_H_

#include "absl/strings/string_view.h"
#include "server/backend/work.h"
#include "server/base/metrics.h"

namespace winnow::server {

// Thread safety: safe to call from several threads.
class StageMeter {
 public:
  // `method` is the full method name without its leading slash. `metrics` outlives the meter.
  StageMeter(absl::string_view method, MetricsRegistry& metrics);

  // A request that ran.
  void Observe(const WorkTiming& timing);

 private:
  Histogram* const queue_;
  Histogram* const launch_;
  Histogram* const device_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_STAGE_METER_H_
