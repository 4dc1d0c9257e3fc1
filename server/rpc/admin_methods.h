// The RPCs of AdminService.

#ifndef WINNOW_SERVER_RPC_ADMIN_METHODS_H_
#define WINNOW_SERVER_RPC_ADMIN_METHODS_H_

#include <memory>
#include <vector>

#include "server/rpc/rpc_environment.h"
#include "server/rpc/rpc_method.h"
#include "winnow/v1/admin_service.grpc.pb.h"

namespace winnow::server {

using RawAdminService = v1::AdminService::WithRawMethod_GetServerInfo<
    v1::AdminService::WithRawMethod_GetStats<v1::AdminService::WithRawMethod_ProbeOccupancy<
        v1::AdminService::WithRawMethod_Drain<v1::AdminService::WithRawMethod_ListLeases<
            v1::AdminService::WithRawMethod_EndLease<v1::AdminService::Service>>>>>>;

// `service`, `environment` and `meters`, which GetStats reads, outlive the methods.
std::vector<std::unique_ptr<RpcMethod>> MakeAdminMethods(
    RawAdminService& service, RpcEnvironment& environment,
    const std::vector<const RpcMeter*>& meters);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_ADMIN_METHODS_H_
