// From blocks of adjacent positions to the scores in them that pass a threshold. The k best scores
// of a row lie in blocks whose largest score is among the k best of those: each of them has a score
// at least as good. The key of a row's last block is +inf instead of its largest score, so that the
// blocks of the k + 1 best keys are needed. A row whose keys are known is selected from without
// being read again.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_EXPAND_BLOCKS_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_EXPAND_BLOCKS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/scan_row.cuh"
#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/primitives/ordered_key.cuh"
#include "kernels/cuda/primitives/thread_index.cuh"
#include "kernels/cuda/primitives/vector_load.cuh"
#include "kernels/cuda/primitives/warp_scan.cuh"
#include "winnow/kernels/limits.h"

namespace winnow::cuda {

inline constexpr int kExpandedBlock = kDefaultBlockSize;  // scores of a block

// The lowest key of `Score` whose score is not below the float32 of key `key`.
template <typename Score>
__device__ __forceinline__ uint32_t KeyFromFloat32Key(uint32_t key) {
  if constexpr (Score::kPerWord == 1) {
    return key;
  } else {
    // The key of a positive bfloat16 ends in zeros when widened, that of a negative one in ones.
    const bool rounds_up = (key & 0x80000000u) != 0 && (key & 0xffffu) != 0;
    return (key >> 16) + (rounds_up ? 1 : 0);
  }
}

// The keys of block `block` of the row; that of a position outside it is 0.
template <typename Score>
__device__ __forceinline__ void LoadBlockKeys(const RowVectors<Score>& row, int32_t block,
                                              uint32_t (&keys)[kExpandedBlock]) {
  constexpr int kVectors = kExpandedBlock / Score::kPerVector;
  const int32_t first = block * kExpandedBlock;
  if (row.FirstPosition(0) == 0) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const Vector16 vector = row.template Load<true>(block * kVectors + v);
#pragma unroll
      for (int i = 0; i < Score::kPerVector; ++i) {
        keys[v * Score::kPerVector + i] = Score::Key(Score::Element(vector.words, i));
      }
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kExpandedBlock; ++i) {
    keys[i] = first + i < row.length() ? Score::Key(row.Bits(first + i)) : 0;
  }
}

// Appends the scores of blocks[next], ..., one block a lane and a warp's blocks at a time, that
// pass the threshold; `next` is this warp's place in the list. False when the buffer is full, with
// nothing appended of the blocks at `next`. Whole warps call it.
template <typename Score, typename Shape>
__device__ __forceinline__ bool ExpandBlocks(ScanShared<Shape>& shared,
                                             const RowVectors<Score>& row, const Candidate* blocks,
                                             int32_t block_count, const Threshold& threshold,
                                             int32_t& next) {
  static_assert(Shape::kKeepsKeys, "keys are appended with the positions");
  const int32_t lane = ThreadIndex() & 31;
  for (; next < block_count; next += Shape::kThreads) {
    const bool valid = next + lane < block_count;
    const int32_t block = valid ? static_cast<int32_t>(blocks[next + lane].position) : 0;
    uint32_t keys[kExpandedBlock];
    LoadBlockKeys(row, block, keys);
    const uint32_t first = static_cast<uint32_t>(block) * kExpandedBlock;
    // Blocks that start at or after the limit hold no equal score that still matters.
    const uint32_t lowest = first < threshold.position_limit ? threshold.key : threshold.key + 1;
    uint32_t mask = 0;
#pragma unroll
    for (int i = 0; i < kExpandedBlock; ++i) {
      mask |= static_cast<uint32_t>(valid && keys[i] >= lowest) << i;
    }
    const uint32_t mine = __popc(mask);
    const uint32_t inclusive = WarpInclusiveSum(mine);
    const uint32_t total = __shfl_sync(kAllLanes, inclusive, 31);
    if (total == 0) continue;
    uint32_t place = 0;
    if (lane == 0) place = atomicAdd(&shared.count, total);
    place = __shfl_sync(kAllLanes, place, 0);
    if (place + total > Shape::kCapacity) {
      if (lane == 0) atomicMin(&shared.first_refused, place);
      return false;
    }
    Candidate* out = shared.candidates + place + inclusive - mine;
#pragma unroll
    for (int i = 0; i < kExpandedBlock; ++i) {
      if ((mask >> i & 1u) != 0) *out++ = {keys[i], first + i};
    }
  }
  return true;
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_EXPAND_BLOCKS_CUH_
