#include "server/rpc/stage_meter.h"

#include <string>

namespace winnow::server {
namespace {

Histogram* Stage(absl::string_view method, const char* stage, MetricsRegistry& metrics) {
  return metrics.AddHistogram("winnow_stage_duration_seconds",
                              "Time of requests that ran, by stage.",
                              {{"method", std::string(method)}, {"stage", stage}});
}

}  // namespace

StageMeter::StageMeter(absl::string_view method, MetricsRegistry& metrics)
    : queue_(Stage(method, "queue", metrics)),
      launch_(Stage(method, "launch", metrics)),
      device_(Stage(method, "device", metrics)) {}

void StageMeter::Observe(const WorkTiming& timing) {
  queue_->Observe(timing.queued);
  launch_->Observe(timing.launch);
  device_->Observe(timing.device);
}

}  // namespace winnow::server
