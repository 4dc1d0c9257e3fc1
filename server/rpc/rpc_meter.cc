#include "server/rpc/rpc_meter.h"

#include <utility>

namespace winnow::server {
namespace {

constexpr char kRequestsName[] = "winnow_requests_total";
constexpr char kRequestsHelp[] = "Requests by method and outcome.";

}  // namespace

RpcMeter::RpcMeter(std::string name, MetricsRegistry& metrics)
    : name_(std::move(name)),
      ok_count_(
          metrics.AddCounter(kRequestsName, kRequestsHelp, {{"method", name_}, {"outcome", "ok"}})),
      error_count_(metrics.AddCounter(kRequestsName, kRequestsHelp,
                                      {{"method", name_}, {"outcome", "error"}})),
      durations_(metrics.AddHistogram("winnow_request_duration_seconds",
                                      "Time from a request's arrival to its reply.",
                                      {{"method", name_}})) {}

void RpcMeter::OnReply(const absl::Status& status, absl::Duration duration) {
  (status.ok() ? ok_count_ : error_count_)->Add();
  durations_->Observe(duration);
}

}  // namespace winnow::server
