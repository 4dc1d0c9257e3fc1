#include "winnow/client/results.h"

#include "winnow/client/server_info.h"

namespace winnow::client {

const Matrix* StepResult::Find(OutputName name) const {
  for (const NamedMatrix& output : outputs) {
    if (output.name == name) return &output.matrix;
  }
  return nullptr;
}

absl::string_view Name(ServerState state) {
  switch (state) {
    case ServerState::kUnspecified:
      break;
    case ServerState::kServing:
      return "serving";
    case ServerState::kDraining:
      return "draining";
    case ServerState::kFailed:
      return "failed";
  }
  return "unspecified";
}

absl::string_view Name(LeaseState state) {
  switch (state) {
    case LeaseState::kUnspecified:
      break;
    case LeaseState::kOpen:
      return "open";
    case LeaseState::kWaiting:
      return "waiting";
    case LeaseState::kEnding:
      return "ending";
  }
  return "unspecified";
}

absl::string_view Name(HealthStatus status) {
  switch (status) {
    case HealthStatus::kUnknown:
      break;
    case HealthStatus::kServing:
      return "serving";
    case HealthStatus::kNotServing:
      return "not serving";
    case HealthStatus::kServiceUnknown:
      return "service unknown";
  }
  return "unknown";
}

}  // namespace winnow::client
