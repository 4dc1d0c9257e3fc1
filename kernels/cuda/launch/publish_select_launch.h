// Puts the fused selection of a publish on a stream. Next: kernel/publish_select.cuh.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_PUBLISH_SELECT_LAUNCH_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_PUBLISH_SELECT_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "kernels/cuda/block/publish_batch.h"
#include "kernels/cuda/launch/launch_context.h"
#include "winnow/kernels/operations.h"

namespace winnow::cuda {

struct PublishSelectKernel {
  void (*function)(PublishBatch) = nullptr;
  int32_t threads = 0;       // of a block
  int32_t shared_bytes = 0;  // dynamic
};

// Whether a block of each kernel has enough shared memory: where not, no publish may take
// LaunchPublishSelect.
bool PublishSelectFits(const DeviceTraits& traits);

// Whether a publish may take it elsewhere. Only when a test or a benchmark says so: no figure
// speaks for it yet.
bool MayFusePublish();

// Lets the kernels use the shared memory that they need on the current device, which they fit. Once
// for each device.
cudaError_t PreparePublishSelect();

// Bytes of workspace that LaunchPublishSelect needs.
int64_t PublishSelectWorkspaceBytes(absl::Span<const TopKSegment> tokens,
                                    absl::Span<const TopKSegment> blocks);

// Enqueues both selections: tokens[i] from scores, blocks[i] from the maxima of their blocks of 8,
// which exist for rows of more than block_params.k blocks. Otherwise as LaunchTopK.
cudaError_t LaunchPublishSelect(const LaunchContext& context, const TopKParams& token_params,
                                absl::Span<const TopKSegment> tokens,
                                const TopKParams& block_params,
                                absl::Span<const TopKSegment> blocks,
                                absl::Span<std::byte> workspace);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_PUBLISH_SELECT_LAUNCH_H_
