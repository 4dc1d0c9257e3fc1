// From the public options to what a call uses.

#ifndef WINNOW_CLIENT_SRC_CALL_SETTINGS_H_
#define WINNOW_CLIENT_SRC_CALL_SETTINGS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/call.h"
#include "client/src/rpc.h"
#include "winnow/client/options.h"

namespace winnow::client {

// InvalidArgument, naming the option, when it cannot be used.
absl::Status CheckOptions(const ClientOptions& options);

// `options` over `defaults`, which CheckOptions accepted. InvalidArgument as CheckOptions.
absl::StatusOr<CallSettings> MakeCallSettings(const ClientOptions& defaults,
                                              const CallOptions& options, const char* method,
                                              Repeat repeat);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_CALL_SETTINGS_H_
