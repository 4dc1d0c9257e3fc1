// Memory that comes from other processes and memory that goes to them: the answers of ImportBuffer,
// of AllocateBuffer with an export kind, and of ExportBuffer.

#ifndef WINNOW_SERVER_RPC_SHARING_METHODS_H_
#define WINNOW_SERVER_RPC_SHARING_METHODS_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/resources/buffer.h"
#include "server/rpc/rpc_environment.h"
#include "winnow/v1/memory_service.pb.h"

namespace winnow::server {

// Quota for an import is the part that is used, not the allocation that it lies in.
absl::Status ImportBuffer(const RpcEnvironment& environment, const v1::ImportBufferRequest& request,
                          v1::ImportBufferResponse& response);

// Memory for a buffer with an export kind, with its quota.
struct ExportableAllocation {
  std::shared_ptr<Buffer> buffer;
  std::vector<QuotaHold> holds;
};
absl::StatusOr<ExportableAllocation> AllocateExportable(const RpcEnvironment& environment,
                                                        const v1::AllocateBufferRequest& request);

absl::Status ExportBuffer(const RpcEnvironment& environment, const v1::ExportBufferRequest& request,
                          v1::ExportBufferResponse& response);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_SHARING_METHODS_H_
