// The only place where absl::Status and grpc::Status meet. An error travels as its code, its
// message and, in `grpc-status-details-bin`, a google.rpc.Status (winnow.v1.RpcStatus is the same
// on the wire) with one winnow.v1.ErrorDetail. Thread safety: pure functions.

#ifndef WINNOW_SERVER_RPC_STATUS_MAPPING_H_
#define WINNOW_SERVER_RPC_STATUS_MAPPING_H_

#include <optional>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"
#include "winnow/v1/error_detail.pb.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::server {

// Ok gives Ok. Every error carries one ErrorDetail: what MakeError attached, or a reason that
// follows from the code when nothing was attached. QUEUE_FULL and SERVER_DRAINING suggest when to
// try again, in milliseconds.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The same for a command of a stream, whose stream goes on. `status` is an error.
void EncodeStreamError(const absl::Status& status, v1::StreamError& encoded);

// The inverse: details that are present and well formed become the status's ErrorInfo.
absl::Status FromGrpcStatus(const grpc::Status& status);

// The detail in the status; nullopt when there is none, or the bytes are no google.rpc.Status.
std::optional<v1::ErrorDetail> GetErrorDetail(const grpc::Status& status);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_STATUS_MAPPING_H_
