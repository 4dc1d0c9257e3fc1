// Exact selection of k among the candidates that a route kept of its row: every fast route ends
// here. Candidates are (key, position) pairs in shared memory, in any order. Next:
// compact_candidates.cuh for the same choice made in place, order_selection.cuh for what follows.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_SELECT_CANDIDATES_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_SELECT_CANDIDATES_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/rank_bracket.cuh"
#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/primitives/thread_index.cuh"
#include "kernels/cuda/primitives/warp_scan.cuh"

namespace winnow::cuda {

// A boundary group of up to so many candidates is ranked by comparing all with all.
inline constexpr uint32_t kMaxClose = 64;

template <int kThreads>
struct SelectShared {
  HistogramShared<kThreads> histogram;
  Candidate close[kMaxClose];
  uint32_t close_count;
  uint32_t above_cursor;  // places taken by keys above the last bracket
  uint32_t tie_cursor;    // places taken by equal keys at the boundary
};

// Of the candidates with key `key`, the `wanted` (fewer than all) lowest positions are those whose
// complement is at least the result. Bins zero before and after; all threads call it after a
// barrier, and it ends with one.
template <int kThreads>
__device__ __forceinline__ uint32_t LowestTies(HistogramShared<kThreads>& histogram,
                                               const Candidate* candidates, int32_t count,
                                               uint32_t key, uint32_t wanted) {
  uint32_t low = 0xffffffffu;
  uint32_t high = 0;
  const auto each = [&](auto visit) {
    for (int32_t i = ThreadIndex(); i < count; i += kThreads) {
      const Candidate candidate = candidates[i];
      visit(~candidate.position, candidate.key == key);
    }
  };
  each([&](uint32_t complement, bool tie) {
    if (!tie) return;
    low = min(low, complement);
    high = max(high, complement);
  });
  BlockExtremes(histogram, low, high);
  // Positions are distinct, so the bracket ends exactly below the last one wanted.
  return NarrowBracket<false>(histogram, RankBracket{low, high, 0, 0}, wanted, 0, each).low;
}

// Gives the places from selected[first] on to `wanted` of the candidates with key `key`: any, or
// those of the lowest positions. Bins zero before and after. All threads call it after a barrier;
// no barrier at its end.
template <int kThreads>
__device__ __forceinline__ void PlaceTies(SelectShared<kThreads>& shared,
                                          const Candidate* candidates, int32_t count, uint32_t key,
                                          uint32_t first, uint32_t wanted, bool lowest_positions,
                                          uint32_t* selected) {
  const uint32_t lowest =
      lowest_positions ? LowestTies(shared.histogram, candidates, count, key, wanted) : 0;
  const int32_t thread = ThreadIndex();
  for (int32_t base = 0; base < count; base += kThreads) {
    const int32_t i = base + thread;
    const Candidate candidate = i < count ? candidates[i] : Candidate{0, 0};
    const bool tie = i < count && candidate.key == key && ~candidate.position >= lowest;
    if (!__any_sync(kAllLanes, tie)) continue;
    const uint32_t place = WarpReserve(&shared.tie_cursor, tie);
    if (tie && place < wanted) selected[first + place] = candidate.position;
  }
}

// Ranks the close candidates by key, then position, and gives the first `wanted` of them the places
// from selected[first] on. All threads call it after a barrier. No barrier at its end.
template <int kThreads>
__device__ __forceinline__ void PlaceClose(const SelectShared<kThreads>& shared, uint32_t first,
                                           uint32_t wanted, uint32_t* selected) {
  const uint32_t count = shared.close_count;
  if (ThreadIndex() >= count) return;
  const Candidate mine = shared.close[ThreadIndex()];
  uint32_t rank = 0;
#pragma unroll 4
  for (uint32_t i = 0; i < count; ++i) {
    const Candidate other = shared.close[i];
    const bool before =
        other.key > mine.key || (other.key == mine.key && other.position < mine.position);
    rank += before ? 1 : 0;
  }
  if (rank < wanted) selected[first + rank] = mine.position;
}

// Writes the positions of the k best of candidates[0, count) to selected[0, k), in no order. Of
// equal keys at the boundary any are taken, or the lowest positions when `deterministic`. k <=
// count <= 32 * kThreads. `low` and `high` are this thread's share of a bracket of all keys: the
// block's bracket spans them. Bins zero before and after. All threads call it after a barrier that
// follows the last write to `candidates`; ends with a barrier.
template <int kThreads>
__device__ __forceinline__ void SelectCandidates(SelectShared<kThreads>& shared,
                                                 const Candidate* candidates, int32_t count,
                                                 uint32_t k, bool deterministic,
                                                 uint32_t* selected) {
  HistogramShared<kThreads>& histogram = shared.histogram;
  const int32_t thread = ThreadIndex();
  if (thread == 0) shared.close_count = shared.above_cursor = shared.tie_cursor = 0;
  uint32_t low;
  uint32_t high;
  ReadExtremes(histogram, low, high);
  if (low == high) {  // all keys are equal; counting them would serialise on one bin
    __syncthreads();
    PlaceTies(shared, candidates, count, low, 0, k, deterministic, selected);
    __syncthreads();
    return;
  }
  uint32_t above = 0;
  uint32_t range;
  int shift;
  for (;;) {
    range = high - low;
    shift = BinShift<kThreads>(range);
#pragma unroll 4
    for (int32_t i = thread; i < count; i += kThreads) {
      atomicAdd(&histogram.bins[BinOf<kThreads>(candidates[i].key, low, range, shift)], 1u);
    }
    __syncthreads();
    FindBin(histogram, k - above, true, above);
    if (shift == 0 || histogram.found_count <= kMaxClose ||
        above + histogram.found_above + histogram.found_count == k) {
      break;
    }
    ClearBins(histogram);
    above += histogram.found_above;
    low += histogram.found_bin << shift;
    high = min(high, low + ((1u << shift) - 1u));
    __syncthreads();
  }

  // Winners go to their place in descending order of bins: no hot counter, no branch.
  const uint32_t first = above + histogram.found_above;
  const uint32_t wanted = k - first;
  const bool whole = histogram.found_count == wanted;
  const bool close = histogram.found_count <= kMaxClose;
  const uint32_t last_bin = histogram.found_bin + (whole ? 0 : 1);
  const uint32_t edge = low + (histogram.found_bin << shift);
  uint32_t rare = 0;  // one bit for each of this thread's candidates that needs a closer look
#pragma unroll 4
  for (int32_t i = thread, item = 0; i < count; i += kThreads, ++item) {
    const Candidate candidate = candidates[i];
    const uint32_t distance = candidate.key - low;
    const uint32_t bin = distance >> shift;
    const bool wins = distance <= range && bin >= last_bin;
    const uint32_t place = atomicAdd(
        &histogram.bins[wins ? bin : HistogramShared<kThreads>::kBins + (thread & 31)], 1u);
    if (wins) selected[place] = candidate.position;
    rare |= static_cast<uint32_t>(!wins && candidate.key >= edge) << item;
  }
  for (; rare != 0; rare &= rare - 1) {
    const Candidate candidate = candidates[thread + (__ffs(rare) - 1) * kThreads];
    if (candidate.key - low > range) {
      selected[atomicAdd(&shared.above_cursor, 1u)] = candidate.position;
    } else if (close) {
      shared.close[atomicAdd(&shared.close_count, 1u)] = candidate;
    }
  }
  __syncthreads();
  ClearBins(histogram);
  if (close && !whole) PlaceClose(shared, first, wanted, selected);
  if (!close && !whole) {
    __syncthreads();
    PlaceTies(shared, candidates, count, edge, first, wanted, deterministic, selected);
  }
  __syncthreads();
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_SELECT_CANDIDATES_CUH_
