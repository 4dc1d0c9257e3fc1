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

template <typename Score>
__device__ __forceinline__ void WritePadding(const RowOutput& output, int32_t rank) {
  if (output.indices != nullptr) output.indices[rank] = Score::kPadding;
  if (output.slots != nullptr) output.slots[rank] = Score::kPadding;
  if (output.values != nullptr) {
    using Bits = typename Score::Bits;
    constexpr Bits kNegativeInfinity = static_cast<Bits>(sizeof(Bits) == 4 ? 0xff800000u : 0xff80u);
    static_cast<Bits*>(output.values)[rank] = kNegativeInfinity;
  }
}

// Writes the slots of positions[i] >= 0 to places first + i * kThreads. All page ids are on their
// way at once, and one comparison is the price of checking them all.
template <typename Score, int kThreads, int kBatch>
__device__ __forceinline__ void WriteSlots(const RowOutput& output, int32_t first,
                                           const int32_t (&positions)[kBatch]) {
  uint32_t ids[kBatch];
  uint32_t largest = 0;
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    ids[i] = positions[i] >= 0 ? PageIdOf(output.pages, positions[i]) : 0;
  }
#pragma unroll
  for (int i = 0; i < kBatch; ++i) largest = max(largest, ids[i]);
  if (__builtin_expect(IsPageId(output.pages, largest), 1)) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (positions[i] < 0) continue;
      output.slots[first + i * kThreads] = SlotOf(output.pages, positions[i], ids[i]);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    if (positions[i] < 0) continue;
    output.slots[first + i * kThreads] =
        CheckedSlot<Score::kPadding>(output.pages, positions[i], output.row, output.report);
  }
}

// Writes results first, first + kThreads, ... of the row's `count`, kBatch of them, at the
// positions that position_of(rank) gives. Their page ids, and their values, wait for memory
// together. Values are read again from the row: the bits of a score, sign of zero and NaN payload
// included, are not kept on the way.
template <typename Score, int kThreads, int kBatch, typename PositionOf>
__device__ __forceinline__ void WriteResults(const RowOutput& output, int32_t first, int32_t count,
                                             PositionOf position_of) {
  using Bits = typename Score::Bits;
  int32_t positions[kBatch];
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    const int32_t rank = first + i * kThreads;
    positions[i] = rank < count ? position_of(rank) : -1;
  }
  if (output.slots != nullptr) WriteSlots<Score, kThreads>(output, first, positions);
  if (output.values != nullptr) {
    Bits values[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (positions[i] >= 0)
        values[i] = __ldg(static_cast<const Bits*>(output.scores) + positions[i]);
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (positions[i] >= 0) static_cast<Bits*>(output.values)[first + i * kThreads] = values[i];
    }
  }
  if (output.indices == nullptr) return;
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    if (positions[i] >= 0) output.indices[first + i * kThreads] = output.offset + positions[i];
  }
}

// Writes `count` results, then padding up to k. All threads call it, after a barrier that follows
// the last write to `output` and to what position_of reads. No barrier at its end.
template <typename Score, int kThreads, typename PositionOf>
__device__ __forceinline__ void WriteRow(const RowOutput& output, int32_t count, int32_t k,
                                         PositionOf position_of) {
  const int32_t thread = ThreadIndex();
  int32_t first = thread;
  // Small results are one batch of one: no loop, no arrays of addresses.
  if (count <= kThreads) {
    WriteResults<Score, kThreads, 1>(output, first, count, position_of);
  } else {
    for (; first < count; first += 4 * kThreads) {
      WriteResults<Score, kThreads, 4>(output, first, count, position_of);
    }
  }
  for (int32_t rank = count + thread; rank < k; rank += kThreads) {
    WritePadding<Score>(output, rank);
  }
}

// As WriteRow, for positions listed in `selected`.
template <typename Score, int kThreads>
__device__ __forceinline__ void WriteSelection(const RowOutput& output, const uint32_t* selected,
                                               int32_t count, int32_t k) {
  WriteRow<Score, kThreads>(output, count, k,
                            [&](int32_t rank) { return static_cast<int32_t>(selected[rank]); });
}

// As WriteRow, for positions 0 to length - 1: a row of at most k scores.
template <typename Score, int kThreads>
__device__ __forceinline__ void WriteIdentity(const RowOutput& output, int32_t length, int32_t k) {
  WriteRow<Score, kThreads>(output, length, k, [](int32_t rank) { return rank; });
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_ROW_OUTPUT_CUH_
