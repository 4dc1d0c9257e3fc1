// The unary RPCs of MemoryService; buffer_streams.h has the two that stream.

#ifndef WINNOW_SERVER_RPC_MEMORY_METHODS_H_
#define WINNOW_SERVER_RPC_MEMORY_METHODS_H_

#include <memory>
#include <vector>

#include "server/base/worker_thread.h"
#include "server/rpc/rpc_method.h"
#include "winnow/v1/memory_service.grpc.pb.h"

namespace winnow::server {

using RawMemoryBuffers = v1::MemoryService::WithRawMethod_AllocateBuffer<
    v1::MemoryService::WithRawMethod_ImportBuffer<v1::MemoryService::WithRawMethod_ExportBuffer<
        v1::MemoryService::WithRawMethod_ReleaseBuffer<
            v1::MemoryService::WithRawMethod_ListResources<v1::MemoryService::Service>>>>>;
using RawMemoryUnary = v1::MemoryService::WithRawMethod_CreatePageTable<
    v1::MemoryService::WithRawMethod_UpdatePageTable<v1::MemoryService::WithRawMethod_ForkPageTable<
        v1::MemoryService::WithRawMethod_ReleasePageTable<RawMemoryBuffers>>>>;
using RawMemoryService = v1::MemoryService::WithRawMethod_WriteBuffer<
    v1::MemoryService::WithRawMethod_ReadBuffer<RawMemoryUnary>>;

// `worker` takes the calls that fill or map memory. All three outlive the methods.
std::vector<std::unique_ptr<RpcMethod>> MakeMemoryMethods(RawMemoryService& service,
                                                          RpcEnvironment& environment,
                                                          WorkerThread& worker);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_MEMORY_METHODS_H_
