// As publish_select.cuh, for rows of any length: the block maxima are read as topk_stream.cuh reads
// a row, once by each of the two blocks of a row.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_PUBLISH_STREAM_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_PUBLISH_STREAM_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/publish_row.cuh"
#include "kernels/cuda/kernel/topk_stream.cuh"

namespace winnow::cuda {

// Selects the tokens of an opened row from its blocks, more than fit the list. All threads call it.
template <typename Score, typename Shape>
__device__ __forceinline__ void SelectFromStreamedBlocks(const TopKBatch& batch,
                                                         TokenShared<Shape>& shared,
                                                         const float* maxima,
                                                         const RowWindow& window) {
  using ListShape = typename Shape::ListShape;
  auto& list = shared.list;
  const uint32_t wanted = BlocksOfResults(batch.k);
  const RowVectors<Float32Score> blocks(maxima, BlocksOf(window));
  ClearScan(shared.tokens);
  __syncthreads();
  const uint32_t sampled =
      SampleThreshold(list.scan.select.histogram, blocks, wanted, ListShape::kCapacity,
                      [&](uint32_t key) { list.finish.plateau = key; });
  const int32_t listed =
      ScanSlice<Float32Score>(list.scan, blocks, 0, TileCount<Float32Score, ListShape>(blocks),
                              Threshold{sampled}, wanted, batch.deterministic);
  SelectFromList<Score>(batch, shared, window, listed, sampled);
}

// Two blocks of Shape::kThreads for each row of the launch.
template <typename Score, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerMultiprocessor)
    PublishStream(const __grid_constant__ PublishBatch batch) {
  auto& shared = DynamicShared<PublishShared<Shape>>();
  const int32_t launch_row = static_cast<int32_t>(blockIdx.x >> 1);
  if ((blockIdx.x & 1) == 0) {
    const OpenedRow opened = BeginRow<BlockMaximumScore>(batch.blocks, shared.blocks, launch_row);
    SelectStreamedRow<BlockMaximumScore>(batch.blocks, shared.blocks, opened.window);
    return;
  }
  const OpenedRow opened = BeginRow<Score>(batch.tokens, shared.tokens.list, launch_row);
  if (BlocksOf(opened.window) > max(batch.expand_above, Shape::ListShape::kCapacity)) {
    SelectFromStreamedBlocks<Score>(batch.tokens, shared.tokens, MaximaOf(batch.blocks, opened),
                                    opened.window);
  } else {
    SelectStreamedRow<Score>(batch.tokens, shared.tokens.list, opened.window);
  }
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_PUBLISH_STREAM_CUH_
