// Words by which a request is ordered with other processes' work. Private to server/rpc.

#ifndef WINNOW_SERVER_RPC_REQUEST_ORDERING_H_
#define WINNOW_SERVER_RPC_REQUEST_ORDERING_H_

#include "absl/status/status.h"
#include "server/backend/work.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/request_resources.h"
#include "winnow/v1/tensor.pb.h"

namespace winnow::server {

// Errors name fields below `ordering`. Unimplemented (NOT_IN_BUILD) without `limits.ordering`.
absl::Status DecodeOrdering(const v1::Ordering& ordering, const DecodeLimits& limits,
                            RequestResources* resources, WorkOrdering& decoded);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_REQUEST_ORDERING_H_
