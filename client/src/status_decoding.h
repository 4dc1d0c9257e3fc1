// From gRPC's status to ours: the only meeting point in the client.

#ifndef WINNOW_CLIENT_SRC_STATUS_DECODING_H_
#define WINNOW_CLIENT_SRC_STATUS_DECODING_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::client {

// Same code and message; an ErrorInfo when the details hold a winnow.v1.ErrorDetail. Details that
// cannot be read are ignored: the code and message still stand.
absl::Status FromGrpcStatus(const grpc::Status& status);

// Of an attempt that has ended. Cancelled without an ErrorInfo, by nobody on this side, is what
// gRPC makes of a call that a server dropped unread while it shut down: Unavailable, as from a
// server that is gone.
absl::Status FromAttempt(const grpc::Status& status, bool cancelled_here);

// Of a command of ExecuteStream: what FromGrpcStatus would give for the unary call.
absl::Status FromStreamError(const v1::StreamError& error);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_STATUS_DECODING_H_
