#include "server/rpc/rpc_method.h"

#include "winnow/kernels/error.h"

namespace winnow::server {

RpcMethod::RpcMethod(std::string name, RequestFunction request, RpcEnvironment& environment)
    : RpcMeter(std::move(name), *environment.metrics, environment.journal),
      request_(std::move(request)),
      environment_(environment) {}

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
