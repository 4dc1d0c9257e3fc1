// Puts the selected positions of a row into the order of the output.
// Next: sort_pairs.cuh for the sort behind Order::kScore.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_ORDER_SELECTION_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_ORDER_SELECTION_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/rank_bracket.cuh"
#include "kernels/cuda/block/sort_pairs.cuh"
#include "kernels/cuda/primitives/thread_index.cuh"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/operations.h"

namespace winnow::cuda {

// Sorts selected[0, count) through 64-bit items whose high part `high_part(position)` gives.
template <int kThreads, typename HighPart>
__device__ __forceinline__ void SortSelected(uint64_t* items, uint32_t* selected, int32_t count,
                                             HighPart high_part) {
  int32_t size = 1;
  while (size < count) size *= 2;
  for (int32_t i = ThreadIndex(); i < size; i += kThreads) {
    const uint32_t position = i < count ? selected[i] : 0;
    items[i] = i < count ? static_cast<uint64_t>(high_part(position)) << 32 | position : ~0ull;
  }
  __syncthreads();
  SortPairs<kThreads>(items, size);
  for (int32_t i = ThreadIndex(); i < count; i += kThreads) {
    selected[i] = static_cast<uint32_t>(items[i]);
  }
  __syncthreads();
}

// Ascending positions by a bitmap of [low, low + 32 * kWords * kThreads): one bit a position, a sum
// over the words before, and each thread lists the bits of its kWords words. Fewer words are
// faster: the positions of a dense stretch then fall to more threads.
template <int kWords, int kThreads>
__device__ __forceinline__ void OrderByBitmap(HistogramShared<kThreads>& shared, uint32_t* selected,
                                              int32_t count, uint32_t low) {
  static_assert(kWords * kThreads <= HistogramShared<kThreads>::kBins);
  const int32_t thread = ThreadIndex();
  for (int32_t i = thread; i < count; i += kThreads) {
    const uint32_t place = selected[i] - low;
    atomicOr(&shared.bins[place >> 5], 1u << (place & 31));
  }
  __syncthreads();
  uint32_t words[kWords];
  uint32_t set = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    words[i] = shared.bins[kWords * thread + i];
    shared.bins[kWords * thread + i] = 0;
    set += __popc(words[i]);
  }
  uint32_t total;
  uint32_t rank = BlockExclusiveSum(shared, set, total);
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const uint32_t base = low + 32 * (kWords * thread + i);
    for (uint32_t word = words[i]; word != 0; word &= word - 1) {
      selected[rank++] = base + __ffs(word) - 1;
    }
  }
  __syncthreads();
}

// Ascending positions when their range is too wide for the bitmap: bins of equal width, then a rank
// inside the bin. A bin of many is left to the sort. `scratch` holds kMaxK items.
template <int kThreads>
__device__ __forceinline__ void OrderByBins(HistogramShared<kThreads>& shared, uint64_t* scratch,
                                            uint32_t* selected, int32_t count, uint32_t low,
                                            uint32_t range) {
  constexpr int kBins = HistogramShared<kThreads>::kBins;
  constexpr uint32_t kMaxInBin = 32;
  uint32_t* const placed = reinterpret_cast<uint32_t*>(scratch);
  const int shift = BinShift<kThreads>(range);
  for (int32_t i = ThreadIndex(); i < count; i += kThreads) {
    atomicAdd(&shared.bins[(selected[i] - low) >> shift], 1u);
  }
  __syncthreads();
  uint4* const mine = reinterpret_cast<uint4*>(shared.bins) + ThreadIndex();
  const uint4 counts = *mine;
  uint32_t total;
  const uint32_t before =
      BlockExclusiveSum(shared, counts.x + counts.y + counts.z + counts.w, total);
  *mine = make_uint4(before, before + counts.x, before + counts.x + counts.y,
                     before + counts.x + counts.y + counts.z);
  const bool crowded = max(max(counts.x, counts.y), max(counts.z, counts.w)) > kMaxInBin;
  if (__syncthreads_or(crowded)) {
    ClearBins(shared);
    SortSelected<kThreads>(scratch, selected, count, [](uint32_t) { return 0u; });
    return;
  }
  for (int32_t i = ThreadIndex(); i < count; i += kThreads) {
    placed[atomicAdd(&shared.bins[(selected[i] - low) >> shift], 1u)] = selected[i];
  }
  __syncthreads();
  // A bin's cursor now stands at its end, which is where the next bin starts.
  for (int32_t i = ThreadIndex(); i < count; i += kThreads) {
    const uint32_t position = placed[i];
    const uint32_t bin = (position - low) >> shift;
    const uint32_t begin = bin == 0 ? 0 : shared.bins[bin - 1];
    const uint32_t end = shared.bins[bin];
    uint32_t rank = begin;
    for (uint32_t j = begin; j < end; ++j) rank += placed[j] < position ? 1 : 0;
    selected[rank] = position;
  }
  static_assert(kBins == 4 * kThreads);
  __syncthreads();
  ClearBins(shared);
}

// Ascending positions of a row too long for a bitmap of all of it.
template <int kThreads>
__device__ __forceinline__ void OrderWidely(HistogramShared<kThreads>& shared, uint64_t* scratch,
                                            uint32_t* selected, int32_t count) {
  constexpr int kBins = HistogramShared<kThreads>::kBins;
  uint32_t low = 0xffffffffu;
  uint32_t high = 0;
  for (int32_t i = ThreadIndex(); i < count; i += kThreads) {
    low = min(low, selected[i]);
    high = max(high, selected[i]);
  }
  BlockExtremes(shared, low, high);
  if (high - low < 32u * kBins) {
    OrderByBitmap<kBins / kThreads>(shared, selected, count, low);
  } else {
    OrderByBins(shared, scratch, selected, count, low, high - low);
  }
}

// Orders selected[0, count), count <= kMaxK, as `order` says; kAny leaves it. `scores` and `length`
// are those of the row; `scratch` holds kMaxK items. All threads call it after a barrier; ends with
// a barrier unless kAny. Bins zero before and, after the next barrier, again.
template <typename Score, int kThreads>
__device__ __forceinline__ void OrderSelection(HistogramShared<kThreads>& shared, uint64_t* scratch,
                                               uint32_t* selected, int32_t count, Order order,
                                               const void* scores, int32_t length) {
  if (order == Order::kAny || count <= 0) return;
  if (order == Order::kScore) {
    const auto* bits = static_cast<const typename Score::Bits*>(scores);
    SortSelected<kThreads>(scratch, selected, count,
                           [&](uint32_t position) { return ~Score::Key(bits[position]); });
    return;
  }
  constexpr int kBins = HistogramShared<kThreads>::kBins;
  if (length <= 32 * kThreads) {
    OrderByBitmap<1>(shared, selected, count, 0);
  } else if (length <= 32 * kBins) {
    OrderByBitmap<kBins / kThreads>(shared, selected, count, 0);
  } else {
    OrderWidely(shared, scratch, selected, count);
  }
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_ORDER_SELECTION_CUH_
