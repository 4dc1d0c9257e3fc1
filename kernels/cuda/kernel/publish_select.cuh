// Both selections of a publish in one launch: each row has a block that selects among its block
// maxima, in ascending order, and one that selects its tokens from the blocks whose maximum is good
// enough. Neither waits for the other. Of the scores only those blocks are read again; of rows that
// are short beside k (PublishBatch::expand_above), all.
// For rows whose maxima fit the registers of a block. Next: topk_short.cuh, which both are,
// block/publish_row.cuh, and publish_stream.cuh for longer rows.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_PUBLISH_SELECT_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_PUBLISH_SELECT_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/publish_row.cuh"
#include "kernels/cuda/kernel/topk_short.cuh"

namespace winnow::cuda {

// Selects the tokens of an opened row from its blocks. All threads call it.
template <typename Score, typename Shape>
__device__ __forceinline__ void SelectFromHeldBlocks(const TopKBatch& batch,
                                                     TokenShared<Shape>& shared,
                                                     const float* maxima, const RowWindow& window) {
  const RowVectors<Float32Score> blocks(maxima, BlocksOf(window));
  Tile<typename Shape::ListShape> held;
  LoadTile<true>(blocks, ThreadIndex() >> 5, held);
  ClearScan(shared.tokens);
  __syncthreads();
  const uint32_t sampled = RegisterThreshold<Float32Score>(shared.list.scan, held, blocks.length(),
                                                           BlocksOfResults(batch.k));
  const int32_t listed = CollectHeld(shared.list, blocks, held, sampled);
  SelectFromList<Score>(batch, shared, window, listed, sampled);
}

// Two blocks of Shape::kThreads for each row of the launch.
template <typename Score, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerMultiprocessor)
    PublishSelect(const __grid_constant__ PublishBatch batch) {
  auto& shared = DynamicShared<PublishShared<Shape>>();
  const int32_t launch_row = static_cast<int32_t>(blockIdx.x >> 1);
  if ((blockIdx.x & 1) == 0) {
    const OpenedRow opened = BeginRow<BlockMaximumScore>(batch.blocks, shared.blocks, launch_row);
    SelectShortRow<BlockMaximumScore>(batch.blocks, shared.blocks, opened.window);
    return;
  }
  const OpenedRow opened = BeginRow<Score>(batch.tokens, shared.tokens.list, launch_row);
  if (BlocksOf(opened.window) > batch.expand_above) {
    SelectFromHeldBlocks<Score>(batch.tokens, shared.tokens, MaximaOf(batch.blocks, opened),
                                opened.window);
  } else {
    SelectShortRow<Score>(batch.tokens, shared.tokens.list, opened.window);
  }
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_PUBLISH_SELECT_CUH_
