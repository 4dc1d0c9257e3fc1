#include "server/rpc/rpc_method.h"

#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

constexpr char kRequestsName[] = "winnow_requests_total";
constexpr char kRequestsHelp[] = "Requests by method and outcome.";

}  // namespace

RpcMethod::RpcMethod(std::string name, RequestFunction request, RpcEnvironment& environment)
    : name_(std::move(name)),
      request_(std::move(request)),
      environment_(environment),
      ok_count_(environment.metrics->AddCounter(kRequestsName, kRequestsHelp,
                                                {{"method", name_}, {"outcome", "ok"}})),
      error_count_(environment.metrics->AddCounter(kRequestsName, kRequestsHelp,
                                                   {{"method", name_}, {"outcome", "error"}})),
      durations_(environment.metrics->AddHistogram("winnow_request_duration_seconds",
                                                   "Time from a request's arrival to its reply.",
                                                   {{"method", name_}})) {}

void RpcMethod::OnReply(const absl::Status& status, absl::Duration duration) {
  (status.ok() ? ok_count_ : error_count_)->Add();
  durations_->Observe(duration);
}

absl::Status CheckServing(const RpcEnvironment& environment) {
  switch (environment.state.load(std::memory_order_acquire)) {
    case ServingState::kServing:
      return absl::OkStatus();
    case ServingState::kDraining:
      return MakeError(absl::StatusCode::kUnavailable, "the server is draining; go to another one",
                       {.reason = ErrorReason::kServerDraining});
    case ServingState::kFailed:
      break;
  }
  return MakeError(absl::StatusCode::kUnavailable,
                   "the device's context is lost; the server is about to exit",
                   {.reason = ErrorReason::kDeviceLost});
}

}  // namespace winnow::server
