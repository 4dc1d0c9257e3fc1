// Makes room in a full candidate buffer without reading anything again: the k best stay, and the
// threshold rises to what the rest of the row must beat.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_COMPACT_CANDIDATES_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_COMPACT_CANDIDATES_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/rank_bracket.cuh"
#include "kernels/cuda/block/select_candidates.cuh"
#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/primitives/thread_index.cuh"
#include "kernels/cuda/primitives/warp_scan.cuh"

namespace winnow::cuda {

inline constexpr uint32_t kNoLimit = 0xffffffffu;

// A score passes when its key is larger, or equal and its position below the limit.
struct Threshold {
  uint32_t key = 0;
  uint32_t position_limit = kNoLimit;
};

__device__ __forceinline__ bool Passes(const Threshold& threshold, const Candidate& candidate) {
  return candidate.key > threshold.key ||
         (candidate.key == threshold.key && candidate.position < threshold.position_limit);
}

// Keeps at least the k best of candidates[0, count) in place, at most kMaxClose more, and returns
// the threshold of everything that could still belong to the k best of the row: whatever fails it
// is no better than k candidates that stay. Sets `kept`. k < count <= 32 * kThreads. Bins zero
// before and after. All threads call it after a barrier; ends with a barrier.
template <int kThreads>
__device__ __forceinline__ Threshold CompactCandidates(SelectShared<kThreads>& shared,
                                                       Candidate* candidates, int32_t count,
                                                       uint32_t k, bool deterministic,
                                                       uint32_t& kept) {
  HistogramShared<kThreads>& histogram = shared.histogram;
  if (ThreadIndex() == 0) shared.above_cursor = shared.tie_cursor = 0;
  const auto each = [&](auto visit) {
    for (int32_t base = 0; base < count; base += kThreads) {
      const int32_t i = base + ThreadIndex();
      visit(i < count ? candidates[i].key : 0u, i < count);
    }
  };
  uint32_t low = kNoLimit;
  uint32_t high = 0;
  each([&](uint32_t key, bool valid) {
    if (valid) low = min(low, key);
    high = max(high, key);
  });
  BlockExtremes(histogram, low, high);
  RankBracket bracket{low, high, 0, 0};
  // A buffer of equal keys needs no counting, and counting it would serialise on one bin.
  if (low != high) {
    bracket = NarrowBracket<true>(histogram, bracket, k, kMaxClose, each);
  } else {
    __syncthreads();  // the extremes have been read by all
  }
  const uint32_t wanted = k - bracket.above;
  const bool tie = bracket.low == bracket.high;
  // Ties that were cut: later ones have to come before the last kept one to matter at all.
  Threshold threshold{bracket.low, tie ? 0u : kNoLimit};
  if (tie && deterministic) {
    threshold.position_limit = ~LowestTies(histogram, candidates, count, bracket.low, wanted);
  }
  // Writes stay below what has been read: the barrier in each step keeps reads ahead of them.
#pragma unroll 1
  for (int32_t base = 0; base < count; base += kThreads) {
    const int32_t i = base + ThreadIndex();
    const Candidate candidate = i < count ? candidates[i] : Candidate{0, 0};
    __syncthreads();
    bool keep = i < count && candidate.key >= bracket.low;
    if (tie) {
      const bool equal = keep && candidate.key == bracket.low;
      if (deterministic) {
        keep = keep && (!equal || candidate.position <= threshold.position_limit);
      } else if (__any_sync(kAllLanes, equal)) {
        const uint32_t rank = WarpReserve(&shared.tie_cursor, equal);
        keep = keep && (!equal || rank < wanted);
      }
    }
    const uint32_t place = WarpReserve(&shared.above_cursor, keep);
    if (keep) candidates[place] = candidate;
  }
  __syncthreads();
  kept = shared.above_cursor;
  __syncthreads();
  return threshold;
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_COMPACT_CANDIDATES_CUH_
