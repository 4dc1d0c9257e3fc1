#include "server/rpc/rpc_meter.h"

#include <utility>

namespace winnow::server {
namespace {

constexpr char kRequestsName[] = "winnow_requests_total";
constexpr char kRequestsHelp[] = "Requests by method and status code.";

}  // namespace

RpcMeter::RpcMeter(std::string name, MetricsRegistry& metrics, ErrorJournal* journal)
    : name_(std::move(name)),
      metrics_(metrics),
      journal_(journal),
      ok_count_(
          metrics.AddCounter(kRequestsName, kRequestsHelp, {{"method", name_}, {"code", "OK"}})),
      durations_(metrics.AddHistogram("winnow_request_duration_seconds",
                                      "Time from a request's arrival to its reply.",
                                      {{"method", name_}})) {}

void RpcMeter::OnReply(const absl::Status& status, absl::Duration duration) {
  durations_->Observe(duration);
  if (status.ok()) return ok_count_->Add();
  OnError(status);
}

void RpcMeter::OnError(const absl::Status& status) {
  error_count_.fetch_add(1, std::memory_order_relaxed);
  std::atomic<Counter*>& slot = code_counts_[static_cast<int>(status.code()) % kCodes];
  Counter* counter = slot.load(std::memory_order_acquire);
  if (counter == nullptr) {
    // The registry gives every caller the same one.
    counter =
        metrics_.AddCounter(kRequestsName, kRequestsHelp,
                            {{"method", name_}, {"code", absl::StatusCodeToString(status.code())}});
    slot.store(counter, std::memory_order_release);
  }
  counter->Add();
  if (journal_ != nullptr) journal_->Add(name_, status);
}

}  // namespace winnow::server
