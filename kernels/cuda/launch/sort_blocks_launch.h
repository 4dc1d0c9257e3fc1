// Launches SortCandidateBlocks. Next: kernel/sort_blocks.cuh.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_SORT_BLOCKS_LAUNCH_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_SORT_BLOCKS_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "kernels/cuda/block/sort_blocks_work.h"
#include "kernels/cuda/launch/launch_context.h"
#include "winnow/kernels/operations.h"

namespace winnow::cuda {

// Enqueues the operation for `count` segments, which passed CheckSortBlocks; `work_of(i)` gives
// each.
cudaError_t LaunchSortBlocks(const LaunchContext& context, const SortBlocksParams& params,
                             int64_t count, absl::FunctionRef<SortBlocksWork(int64_t)> work_of);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_SORT_BLOCKS_LAUNCH_H_
