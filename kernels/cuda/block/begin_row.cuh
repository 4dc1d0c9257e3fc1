// What a block that has a row to itself does before it loads scores.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_BEGIN_ROW_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_BEGIN_ROW_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/finish_row.cuh"
#include "kernels/cuda/block/scan_row.cuh"
#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/block/topk_row.cuh"
#include "kernels/cuda/primitives/dependent_launch.cuh"
#include "kernels/cuda/primitives/kernel_parameters.cuh"
#include "kernels/cuda/primitives/thread_index.cuh"

namespace winnow::cuda {

// The shared memory of such a block.
template <typename Shape>
struct RowShared {
  ScanShared<Shape> scan;
  FinishShared<Shape::kMaxResults> finish;
};

// Clears, waits for the predecessor, opens row `launch_row` of the batch and notes its outputs. All
// threads call it; no barrier at its end.
template <typename Score, typename Shape>
__device__ __forceinline__ OpenedRow BeginRow(const TopKBatch& batch, RowShared<Shape>& shared,
                                              int32_t launch_row) {
  ClearScan(shared.scan);
  if (ThreadIndex() == 0) shared.finish.plateau = 0;
  TouchParameters(batch);
  WaitForPredecessor();
  if (batch.release_early) ReleaseSuccessor();
  const OpenedRow opened = OpenRow<Score>(batch, launch_row, true);
  if (threadIdx.x == 0) FillOutput<Score>(batch, opened, shared.finish.output);
  return opened;
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_BEGIN_ROW_CUH_
