// Targets and channels.

#ifndef WINNOW_CLIENT_SRC_CHANNEL_H_
#define WINNOW_CLIENT_SRC_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "winnow/client/options.h"

namespace winnow::client {

// InvalidArgument unless `target` is "unix:PATH" with a path that a socket address holds, or
// "HOST:PORT" with a port of 1 to 65535.
absl::Status CheckTarget(absl::string_view target);

// A channel of its own (not shared with other clients of the process), of options that CheckOptions
// accepts. Messages have no size limit but protobuf's. Connects with the first call.
std::shared_ptr<grpc::Channel> MakeChannel(const ClientOptions& options);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_CHANNEL_H_
