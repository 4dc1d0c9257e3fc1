// Launches BlockAmax. Next: kernel/block_amax.cuh.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_BLOCK_AMAX_LAUNCH_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_BLOCK_AMAX_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "kernels/cuda/launch/launch_context.h"
#include "winnow/kernels/operations.h"

namespace winnow::cuda {

// One segment of a launch. The caller sets the first three; the launch fills in the rest.
struct BlockAmaxWork {
  BlockAmaxSegment segment;
  // For a chain: a row that cannot be served by `pages` is empty as well, and window_lengths[row]
  // becomes the row's length, 0 where it is empty or at fault. Both may be absent.
  PageTransform pages;
  int32_t* window_lengths = nullptr;

  int32_t tiles_per_row = 0;
  int32_t skip_at_most = 0;
  int32_t load_before_length = 0;  // bool
};

// Enqueues the operation for `count` segments, which passed CheckBlockAmax; `work_of(i)` gives
// each.
cudaError_t LaunchBlockAmax(const LaunchContext& context, const BlockAmaxParams& params,
                            int64_t count, absl::FunctionRef<BlockAmaxWork(int64_t)> work_of);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_BLOCK_AMAX_LAUNCH_H_
