// Writes results of a row in whatever outputs it has: indices, slots, values.
// Next: order_selection.cuh, which decides the order they are written in.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_ROW_OUTPUT_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_ROW_OUTPUT_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/topk_row.cuh"
#include "kernels/cuda/primitives/page_transform.cuh"
#include "kernels/cuda/primitives/thread_index.cuh"
#include "winnow/kernels/limits.h"

namespace winnow::cuda {

// Result `rank` of the row is `position`. Values are read again from the row: the bits of a score,
// sign of zero and NaN payload included, are not kept on the way.
template <typename Bits>
__device__ __forceinline__ void WriteResult(const RowOutput& output, int32_t rank,
                                            int32_t position) {
  if (output.indices != nullptr) output.indices[rank] = output.offset + position;
  if (output.slots != nullptr) {
    output.slots[rank] = SlotOf(output.pages, position, output.row, output.report);
  }
  if (output.values != nullptr) {
    static_cast<Bits*>(output.values)[rank] = static_cast<const Bits*>(output.scores)[position];
  }
}

template <typename Bits>
__device__ __forceinline__ void WritePadding(const RowOutput& output, int32_t rank) {
  if (output.indices != nullptr) output.indices[rank] = kPaddingIndex;
  if (output.slots != nullptr) output.slots[rank] = kPaddingIndex;
  if (output.values != nullptr) {
    constexpr Bits kNegativeInfinity = static_cast<Bits>(sizeof(Bits) == 4 ? 0xff800000u : 0xff80u);
    static_cast<Bits*>(output.values)[rank] = kNegativeInfinity;
  }
}

// Writes `count` selected positions, then padding up to k. All threads call it, after a barrier
// that follows the last write to `output` and `selected`. No barrier at its end.
template <typename Score, int kThreads>
__device__ __forceinline__ void WriteSelection(const RowOutput& output, const uint32_t* selected,
                                               int32_t count, int32_t k) {
  using Bits = typename Score::Bits;
  for (int32_t rank = ThreadIndex(); rank < k; rank += kThreads) {
    if (rank < count) {
      WriteResult<Bits>(output, rank, static_cast<int32_t>(selected[rank]));
    } else {
      WritePadding<Bits>(output, rank);
    }
  }
}

// Writes positions 0 to length - 1, then padding: a row of at most k scores. As WriteSelection.
template <typename Score, int kThreads>
__device__ __forceinline__ void WriteIdentity(const RowOutput& output, int32_t length, int32_t k) {
  using Bits = typename Score::Bits;
  for (int32_t rank = ThreadIndex(); rank < k; rank += kThreads) {
    if (rank < length) {
      WriteResult<Bits>(output, rank, rank);
    } else {
      WritePadding<Bits>(output, rank);
    }
  }
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_ROW_OUTPUT_CUH_
