// Launches BlockAmax. Next: kernel/block_amax.cuh.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_BLOCK_AMAX_LAUNCH_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_BLOCK_AMAX_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "kernels/cuda/block/block_amax_work.h"
#include "kernels/cuda/launch/launch_context.h"
#include "winnow/kernels/operations.h"

namespace winnow::cuda {

// Enqueues the operation for `count` segments, which passed CheckBlockAmax; `work_of(i)` gives
// each.
cudaError_t LaunchBlockAmax(const LaunchContext& context, const BlockAmaxParams& params,
                            int64_t count, absl::FunctionRef<BlockAmaxWork(int64_t)> work_of);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_BLOCK_AMAX_LAUNCH_H_
