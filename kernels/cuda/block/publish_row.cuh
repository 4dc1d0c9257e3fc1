// The parts of a fused publish that do not depend on how the block maxima are read.
// Next: kernel/publish_select.cuh and kernel/publish_stream.cuh.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_PUBLISH_ROW_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_PUBLISH_ROW_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/begin_row.cuh"
#include "kernels/cuda/block/expand_blocks.cuh"
#include "kernels/cuda/block/finish_row.cuh"
#include "kernels/cuda/block/publish_batch.h"

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
  RowShared<typename Shape::ListShape> list;
  ScanShared<typename Shape::TokenShape> tokens;
};

template <typename Shape>
union PublishShared {
  RowShared<typename Shape::BlockShape> blocks;
  TokenShared<Shape> tokens;
};

__device__ __forceinline__ int32_t BlocksOf(const RowWindow& window) {
  return (window.length + kExpandedBlock - 1) / kExpandedBlock;
}

// The block maxima of a row that is open as a row of tokens.
__device__ __forceinline__ const float* MaximaOf(const TopKBatch& blocks, const OpenedRow& opened) {
  const auto of = [&](const TopKSegment& segment) {
    return static_cast<const float*>(segment.scores) + opened.row * segment.row_stride;
  };
  return blocks.segment_count == 1 ? of(blocks.segment) : of(blocks.segments[opened.segment]);
}

// Blocks that hold the k best scores of a row: one more than k, because the key of the last block
// is +inf, whatever its scores are.
__device__ __forceinline__ uint32_t BlocksOfResults(int32_t k) {
  return static_cast<uint32_t>(k) + 1;
}

// Selects tokens from the `listed` blocks of the list, among which are all whose key is at least
// `sampled`, or only those above list.finish.plateau where that is set; and the BlocksOfResults(k)
// best if any that pass are not among them. All threads call it after a barrier.
template <typename Score, typename Shape>
__device__ __forceinline__ void SelectFromList(const TopKBatch& batch, TokenShared<Shape>& shared,
                                               const RowWindow& window, int32_t listed,
                                               uint32_t sampled) {
  auto& list = shared.list;
  auto& tokens = shared.tokens;
  const uint32_t plateau = list.finish.plateau;
  const RowVectors<Score> row(window.scores, window.length);
  const Threshold threshold{KeyFromFloat32Key<Score>(plateau != 0 ? plateau + 1 : sampled)};
  __syncthreads();  // the plateau has been read by all
  if constexpr (Score::kPerWord != 1) {
    if (ThreadIndex() == 0) list.finish.plateau = plateau >> 16;
  }
  int32_t next = ThreadIndex() & ~31;
  const int32_t count = CollectCandidates(
      tokens, row, threshold, static_cast<uint32_t>(batch.k), batch.deterministic,
      [&](const Threshold& current) {
        return ExpandBlocks<Score>(tokens, row, list.scan.candidates, listed, current, next);
      });
  FinishRow<Score, false>(batch, list.finish, tokens.select, tokens.candidates, count);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_PUBLISH_ROW_CUH_
