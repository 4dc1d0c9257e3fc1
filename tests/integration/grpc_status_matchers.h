// What a call over the bare stubs failed with. status_matchers.h has the same for absl::Status.

#ifndef WINNOW_TESTS_INTEGRATION_GRPC_STATUS_MATCHERS_H_
#define WINNOW_TESTS_INTEGRATION_GRPC_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include "server/rpc/status_mapping.h"

namespace winnow::testing {

// A grpc::Status whose ErrorDetail has the v1::ErrorReason.
MATCHER_P(Fails, reason, "fails with the reason") {
  const auto detail = server::GetErrorDetail(arg);
  *result_listener << arg.error_message();
  return detail.has_value() && detail->reason() == reason;
}

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_INTEGRATION_GRPC_STATUS_MATCHERS_H_
