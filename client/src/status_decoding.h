// From gRPC's status to ours: the only meeting point in the client.

#ifndef WINNOW_CLIENT_SRC_STATUS_DECODING_H_
#define WINNOW_CLIENT_SRC_STATUS_DECODING_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace winnow::client {

// Same code and message; an ErrorInfo when the details hold a winnow.v1.ErrorDetail. Details that
// cannot be read are ignored: the code and message still stand.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_STATUS_DECODING_H_
