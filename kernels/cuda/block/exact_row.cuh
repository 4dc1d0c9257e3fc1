// Exact selection of a row of any length and any data by reading it several times: three rounds of
// narrowing at most, then one pass that collects. Slow and unconditional: every other route falls
// back to it, so none has to be right about its data.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_EXACT_ROW_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_EXACT_ROW_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/rank_bracket.cuh"
#include "kernels/cuda/primitives/ordered_key.cuh"
#include "kernels/cuda/primitives/thread_index.cuh"
#include "kernels/cuda/primitives/vector_load.cuh"
#include "kernels/cuda/primitives/warp_scan.cuh"

namespace winnow::cuda {

struct ExactRowShared {
  uint32_t winner_cursor;
  uint32_t tie_cursor;
};

// Calls visit(key, position, valid) for each score of the row; whole warps together, in ascending
// order of vectors. `valid` is false past the row.
template <typename Score, int kThreads, typename Visit>
__device__ __forceinline__ void ForEachScore(const RowVectors<Score>& row, Visit visit) {
  constexpr int kLoads = 4;
  const int32_t vectors = row.count();
  const int32_t lane = ThreadIndex() & 31;
  for (int32_t base = ThreadIndex() - lane; base < vectors; base += kLoads * kThreads) {
    Vector16 loaded[kLoads];
#pragma unroll
    for (int load = 0; load < kLoads; ++load) {
      loaded[load] = row.Load(base + load * kThreads + lane);
    }
#pragma unroll
    for (int load = 0; load < kLoads; ++load) {
      const int32_t first = row.FirstPosition(base + load * kThreads + lane);
#pragma unroll
      for (int element = 0; element < Score::kPerVector; ++element) {
        const int32_t position = first + element;
        const bool valid = static_cast<uint32_t>(position) < static_cast<uint32_t>(row.length());
        visit(Score::Key(Score::Element(loaded[load].words, element)), position, valid);
      }
    }
  }
}

// Lists, from selected[first] on, the lowest positions with a key in the bracket until `wanted` are
// found, in ascending steps of the row of kLoads loads each; returns how many were. All threads
// call it after a barrier; no barrier at its end.
template <int kLoads, typename Score, int kThreads>
__device__ __forceinline__ uint32_t CollectLowestTies(HistogramShared<kThreads>& histogram,
                                                      const RowVectors<Score>& row,
                                                      const RankBracket& bracket, uint32_t first,
                                                      uint32_t wanted, uint32_t* selected) {
  uint32_t found = 0;
  for (int32_t base = ThreadIndex(); found < wanted; base += kLoads * kThreads) {
    if (base - static_cast<int32_t>(ThreadIndex()) >= row.count()) break;
    Vector16 loaded[kLoads];
#pragma unroll
    for (int load = 0; load < kLoads; ++load) loaded[load] = row.Load(base + load * kThreads);
#pragma unroll
    for (int load = 0; load < kLoads; ++load) {
      const int32_t first_position = row.FirstPosition(base + load * kThreads);
      uint32_t ties = 0;
#pragma unroll
      for (int element = 0; element < Score::kPerVector; ++element) {
        const int32_t position = first_position + element;
        const uint32_t key = Score::Key(Score::Element(loaded[load].words, element));
        const bool tie = static_cast<uint32_t>(position) < static_cast<uint32_t>(row.length()) &&
                         key >= bracket.low && key <= bracket.high;
        ties |= static_cast<uint32_t>(tie) << element;
      }
      if (!__syncthreads_or(ties != 0 && found < wanted)) continue;
      uint32_t total;
      uint32_t rank = found + BlockExclusiveSum(histogram, __popc(ties), total);
      for (; ties != 0 && rank < wanted; ties &= ties - 1) {
        selected[first + rank++] = static_cast<uint32_t>(first_position + __ffs(ties) - 1);
      }
      found += total;
    }
  }
  return min(found, wanted);
}

// Writes the positions of the row's k largest scores to selected[0, k), in no order; of equal
// scores at the boundary any, or the lowest positions when `deterministic`. k < length of the row.
// Bins zero before and after. All threads call it after a barrier; ends with a barrier.
template <typename Score, int kThreads>
__device__ __forceinline__ void SelectExactRow(HistogramShared<kThreads>& histogram,
                                               ExactRowShared& shared, const void* scores,
                                               int32_t length, uint32_t k, bool deterministic,
                                               uint32_t* selected) {
  const RowVectors<Score> row(scores, length);
  if (ThreadIndex() == 0) shared.winner_cursor = shared.tie_cursor = 0;
  RankBracket bracket{0, Score::kPositiveInfinityKey, 0, 0};
  do {
    const uint32_t range = bracket.high - bracket.low;
    const int shift = BinShift<kThreads>(range);
    ForEachScore<Score, kThreads>(row, [&](uint32_t key, int32_t, bool valid) {
      const uint32_t spare = HistogramShared<kThreads>::kBins + (ThreadIndex() & 31);
      CountKey(histogram, valid ? BinOf<kThreads>(key, bracket.low, range, shift) : spare);
    });
    __syncthreads();
    FindBin(histogram, k - bracket.above, false, 0);
    bracket.above += histogram.found_above;
    bracket.count = histogram.found_count;
    bracket.low += histogram.found_bin << shift;
    bracket.high = bracket.low + ((1u << shift) - 1u);
  } while (bracket.low != bracket.high && bracket.above + bracket.count != k);

  // Keys above the bracket win; of those in it, which are equal unless all of them are wanted,
  // `wanted` do.
  const uint32_t first = bracket.above;
  const uint32_t wanted = k - first;
  const bool in_order = deterministic && bracket.count != wanted;
  bool ties_open = !in_order;
  ForEachScore<Score, kThreads>(row, [&](uint32_t key, int32_t position, bool valid) {
    const bool wins = valid && key > bracket.high;
    if (__any_sync(kAllLanes, wins)) {
      const uint32_t place = WarpReserve(&shared.winner_cursor, wins);
      if (wins) selected[place] = static_cast<uint32_t>(position);
    }
    const bool tie = valid && key >= bracket.low && key <= bracket.high;
    if (ties_open && __any_sync(kAllLanes, tie)) {
      const uint32_t place = WarpReserve(&shared.tie_cursor, tie);
      if (tie && place < wanted) selected[first + place] = static_cast<uint32_t>(position);
      ties_open = __shfl_sync(kAllLanes, place, 31) < wanted;
    }
  });
  if (in_order) CollectLowestTies<1>(histogram, row, bracket, first, wanted, selected);
  __syncthreads();
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_EXACT_ROW_CUH_
