// Top-k with one block a row and one pass over it: a sampled threshold, a compare-only stream, a
// selection among what passed. The route of large batches; it holds rows of any length.
// Next: block/scan_row.cuh and block/finish_row.cuh.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_TOPK_STREAM_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_TOPK_STREAM_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/begin_row.cuh"
#include "kernels/cuda/block/finish_row.cuh"
#include "kernels/cuda/block/scan_row.cuh"
#include "kernels/cuda/primitives/shared_memory.cuh"

namespace winnow::cuda {

// Selects from an opened row and writes its results. All threads call it.
template <typename Score, typename Shape>
__device__ __forceinline__ void SelectStreamedRow(const TopKBatch& batch, RowShared<Shape>& shared,
                                                  const RowWindow& window) {
  __syncthreads();
  if (window.length <= batch.k) {
    WriteShortRow<Score>(batch, shared.finish, shared.scan.select.histogram,
                         reinterpret_cast<uint64_t*>(shared.scan.candidates));
    return;
  }
  const RowVectors<Score> row(window.scores, window.length);
  const uint32_t k = static_cast<uint32_t>(batch.k);
  Threshold threshold{Score::kNegativeInfinityKey};
  if (window.length > Shape::kCapacity) {
    threshold.key = SampleThreshold(shared.scan.select.histogram, row, k, Shape::kCapacity,
                                    [&](uint32_t key) { shared.finish.plateau = key; });
  }
  const int32_t count = ScanSlice<Score>(shared.scan, row, 0, TileCount<Score, Shape>(row),
                                         threshold, k, batch.deterministic);
  FinishRow<Score, true>(batch, shared.finish, shared.scan.select, shared.scan.candidates, count);
}

// One block of Shape::kThreads for each row of the launch; k <= Shape::kMaxResults.
template <typename Score, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerMultiprocessor)
    TopKStream(const __grid_constant__ TopKBatch batch) {
  auto& shared = DynamicShared<RowShared<Shape>>();
  const OpenedRow opened = BeginRow<Score>(batch, shared, static_cast<int32_t>(blockIdx.x));
  SelectStreamedRow<Score>(batch, shared, opened.window);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_TOPK_STREAM_CUH_
