// Top-k by reading each row several times: one block a row, any length, any data, no luck involved.
// The route of last resort, and the judge of the others on the device itself.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_TOPK_EXACT_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_TOPK_EXACT_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/finish_row.cuh"
#include "kernels/cuda/primitives/dependent_launch.cuh"
#include "kernels/cuda/primitives/shared_memory.cuh"

namespace winnow::cuda {

inline constexpr int kExactThreads = 512;

struct ExactShared {
  uint64_t scratch[kMaxK];
  HistogramShared<kExactThreads> histogram;
  FinishShared<kMaxK> finish;
};

// One block of kExactThreads for each row of the launch.
template <typename Score>
__global__ void __launch_bounds__(kExactThreads)
    TopKExact(const __grid_constant__ TopKBatch batch) {
  auto& shared = DynamicShared<ExactShared>();
  ClearBins(shared.histogram);
  WaitForPredecessor();
  if (batch.release_early) ReleaseSuccessor();
  const OpenedRow opened = OpenRow<Score>(batch, static_cast<int32_t>(blockIdx.x), true);
  const RowWindow& window = opened.window;
  if (threadIdx.x == 0) FillOutput<Score>(batch, opened, shared.finish.output);
  __syncthreads();
  if (window.length <= batch.k) {
    WriteShortRow<Score>(batch, shared.finish, shared.histogram, shared.scratch);
    return;
  }
  SelectExactRow<Score, kExactThreads>(shared.histogram, shared.finish.exact, window.scores,
                                       window.length, static_cast<uint32_t>(batch.k),
                                       batch.deterministic, shared.finish.selected);
  WriteOrdered<Score>(batch, shared.finish, shared.histogram, shared.scratch);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_TOPK_EXACT_CUH_
