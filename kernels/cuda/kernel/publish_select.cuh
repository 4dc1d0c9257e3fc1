// Both selections of a publish in one launch: each row has a block that selects among its block
// maxima, in ascending order, and one that selects its tokens from the blocks whose maximum is good
// enough. Neither waits for the other, and the scores are not read again but for those blocks.
// Next: topk_short.cuh, which both are, and block/expand_blocks.cuh.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_PUBLISH_SELECT_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_PUBLISH_SELECT_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/expand_blocks.cuh"
#include "kernels/cuda/block/publish_batch.h"
#include "kernels/cuda/kernel/topk_short.cuh"

namespace winnow::cuda {

// BlockShape: of the selection among the maxima; ListShape: of the list of blocks that tokens are
// taken from; TokenShape: of the tokens in them.
template <typename BlockShape_, typename ListShape_, typename TokenShape_>
struct PublishShape {
  using BlockShape = BlockShape_;
  using ListShape = ListShape_;
  using TokenShape = TokenShape_;
  static constexpr int kThreads = BlockShape::kThreads;
  static constexpr int kBlocksPerMultiprocessor = TokenShape::kBlocksPerMultiprocessor;
  static_assert(ListShape::kThreads == kThreads && TokenShape::kThreads == kThreads);
  static_assert(ListShape::kMaxResults == TokenShape::kMaxResults);
};

template <typename Shape>
struct TokenShared {
  ShortShared<typename Shape::ListShape> list;
  ScanShared<typename Shape::TokenShape> tokens;
};

template <typename Shape>
union PublishShared {
  ShortShared<typename Shape::BlockShape> blocks;
  TokenShared<Shape> tokens;
};

// The block maxima of the launch's row `launch_row`, which is open as a row of tokens.
__device__ __forceinline__ const float* MaximaOf(const TopKBatch& blocks, const OpenedRow& opened) {
  const auto of = [&](const TopKSegment& segment) {
    return static_cast<const float*>(segment.scores) + opened.row * segment.row_stride;
  };
  return blocks.segment_count == 1 ? of(blocks.segment) : of(blocks.segments[opened.segment]);
}

// Selects the tokens of an opened row from its `block_count` blocks. All threads call it.
template <typename Score, typename Shape>
__device__ __forceinline__ void SelectFromBlocks(const TopKBatch& batch, TokenShared<Shape>& shared,
                                                 const float* maxima, int32_t block_count,
                                                 const RowWindow& window) {
  auto& list = shared.list;
  auto& tokens = shared.tokens;
  const uint32_t k = static_cast<uint32_t>(batch.k);
  const RowVectors<Float32Score> blocks(maxima, block_count);
  Tile<typename Shape::ListShape> held;
  LoadTile<true>(blocks, ThreadIndex() >> 5, held);
  ClearScan(tokens);
  __syncthreads();
  const uint32_t sampled = RegisterThreshold<Float32Score>(list.scan, held, block_count, k);
  const int32_t listed = CollectHeld(list, blocks, held, sampled);
  const uint32_t plateau = list.finish.plateau;
  const RowVectors<Score> row(window.scores, window.length);
  const Threshold threshold{KeyFromFloat32Key<Score>(plateau != 0 ? plateau + 1 : sampled)};
  __syncthreads();  // the plateau has been read by all
  if constexpr (Score::kPerWord != 1) {
    if (ThreadIndex() == 0) list.finish.plateau = plateau >> 16;
  }
  int32_t next = ThreadIndex() & ~31;
  const int32_t count = CollectCandidates(
      tokens, row, threshold, k, batch.deterministic, [&](const Threshold& current) {
        return ExpandBlocks<Score>(tokens, row, list.scan.candidates, listed, current, next);
      });
  FinishRow<Score, false>(batch, list.finish, tokens.select, tokens.candidates, count);
}

// The row's tokens.
template <typename Score, typename Shape>
__device__ __forceinline__ void SelectTokens(const PublishBatch& batch, TokenShared<Shape>& shared,
                                             int32_t launch_row) {
  const OpenedRow opened = OpenShortRow<Score>(batch.tokens, shared.list, launch_row);
  const RowWindow& window = opened.window;
  const int32_t block_count = (window.length + kExpandedBlock - 1) / kExpandedBlock;
  if (block_count > batch.expand_above) {
    SelectFromBlocks<Score, Shape>(batch.tokens, shared, MaximaOf(batch.blocks, opened),
                                   block_count, window);
  } else {
    SelectShortRow<Score>(batch.tokens, shared.list, window);
  }
}

// Two blocks of Shape::kThreads for each row of the launch.
template <typename Score, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerMultiprocessor)
    PublishSelect(const __grid_constant__ PublishBatch batch) {
  auto& shared = DynamicShared<PublishShared<Shape>>();
  const int32_t launch_row = static_cast<int32_t>(blockIdx.x >> 1);
  if ((blockIdx.x & 1) != 0) {
    SelectTokens<Score, Shape>(batch, shared.tokens, launch_row);
    return;
  }
  const OpenedRow opened = OpenShortRow<BlockMaximumScore>(batch.blocks, shared.blocks, launch_row);
  SelectShortRow<BlockMaximumScore>(batch.blocks, shared.blocks, opened.window);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_PUBLISH_SELECT_CUH_
