// The unary RPC of LeaseService; lease_stream.h has the one that streams.

#ifndef WINNOW_SERVER_RPC_LEASE_METHODS_H_
#define WINNOW_SERVER_RPC_LEASE_METHODS_H_

#include <memory>

#include "server/rpc/rpc_environment.h"
#include "server/rpc/rpc_method.h"
#include "winnow/v1/lease_service.grpc.pb.h"

namespace winnow::server {

using RawLeaseService = v1::LeaseService::WithRawMethod_OpenLease<
    v1::LeaseService::WithRawMethod_CloseLease<v1::LeaseService::Service>>;

// CloseLease. `service` and `environment` outlive the method.
std::unique_ptr<RpcMethod> MakeCloseLease(RawLeaseService& service, RpcEnvironment& environment);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_LEASE_METHODS_H_
