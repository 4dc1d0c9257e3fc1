// Exact selection of k among candidates whose positions are in shared memory and whose keys are
// still in the row: each thread fetches the keys of its candidates, counts them at once, and keeps
// them in registers until it knows which of them win. For rows whose sample told how far the keys
// reach. Next: select_candidates.cuh, which selects where this one gives up.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_SELECT_FETCHED_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_SELECT_FETCHED_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/rank_bracket.cuh"
#include "kernels/cuda/block/select_candidates.cuh"
#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/block/topk_row.cuh"
#include "kernels/cuda/primitives/thread_index.cuh"
#include "kernels/cuda/primitives/warp_scan.cuh"

namespace winnow::cuda {

// This thread's candidates.
template <int kItems>
struct FetchedItems {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t positions[kItems];
  uint32_t keys[kItems];
  uint32_t bins[kItems];  // kNone: no candidate
};

// Fetches the keys of candidates[0, count), none below `low`, and counts them in bins of width
// 1 << shift from `low` on; the last bin takes all that is above. No barrier.
template <typename Score, int kThreads, int kItems>
__device__ __forceinline__ void FetchItems(HistogramShared<kThreads>& histogram,
                                           const Candidate* candidates, int32_t count,
                                           const RowVectors<Score>& row, uint32_t low, int shift,
                                           FetchedItems<kItems>& items) {
  constexpr uint32_t kLastBin = HistogramShared<kThreads>::kBins - 1;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int32_t i = ThreadIndex() + item * kThreads;
    items.positions[item] = i < count ? candidates[i].position : 0;
    items.keys[item] = i < count ? Score::Key(row.Bits(items.positions[item])) : 0;
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const bool valid = static_cast<int32_t>(ThreadIndex() + item * kThreads) < count;
    const uint32_t bin = min((items.keys[item] - low) >> shift, kLastBin);
    items.bins[item] = valid ? bin : FetchedItems<kItems>::kNone;
    if (valid) atomicAdd(&histogram.bins[bin], 1u);
  }
}

// Writes the positions of this thread's items from bin `last` on to places of their own in
// `selected`, one atomic addition a warp. Whole warps call it. No barrier.
template <int kItems>
__device__ __forceinline__ void PlaceWinners(uint32_t* cursor, const FetchedItems<kItems>& items,
                                             uint32_t last, uint32_t* selected) {
  uint32_t lanes[kItems];
  uint32_t total = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const uint32_t bin = items.bins[item];
    lanes[item] = __ballot_sync(kAllLanes, bin >= last && bin != FetchedItems<kItems>::kNone);
    total += __popc(lanes[item]);
  }
  uint32_t place = 0;
  if ((ThreadIndex() & 31) == 0 && total != 0) place = atomicAdd(cursor, total);
  place = __shfl_sync(kAllLanes, place, 0);
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if ((lanes[item] >> (ThreadIndex() & 31) & 1u) != 0) {
      selected[place + __popc(lanes[item] & LanesBelow())] = items.positions[item];
    }
    place += __popc(lanes[item]);
  }
}

// Writes the positions of the k best of candidates[0, count) to selected[0, k), as
// SelectCandidates, and returns true; or returns false, in every thread, when there are fewer than
// k or more than kItems a thread, or when the bin in which the k-th falls holds too many. `low` is
// not above any key; the histogram's extremes are those of a sample of the row. Bins zero before
// and after. All threads call it after a barrier; ends with a barrier unless it returns false at
// once.
template <typename Score, int kItems, int kThreads>
__device__ __forceinline__ bool SelectFetched(SelectShared<kThreads>& shared,
                                              const Candidate* candidates, int32_t count,
                                              const RowVectors<Score>& row, uint32_t low,
                                              uint32_t k, bool deterministic, uint32_t* selected) {
  constexpr uint32_t kLastBin = HistogramShared<kThreads>::kBins - 1;
  if (count < static_cast<int32_t>(k) || count > kItems * kThreads) return false;
  HistogramShared<kThreads>& histogram = shared.histogram;
  if (ThreadIndex() == 0) shared.close_count = shared.above_cursor = shared.tie_cursor = 0;
  uint32_t sample_low;
  uint32_t sample_high;
  ReadExtremes(histogram, sample_low, sample_high);
  // The row reaches further than its sample: half of the bins are for that.
  const uint32_t range = sample_high > low ? sample_high - low : 0;
  const int shift = BinShift<kThreads>(range) + (range > kLastBin / 2 ? 1 : 0);
  FetchedItems<kItems> items;
  FetchItems(histogram, candidates, count, row, low, shift, items);
  __syncthreads();
  FindBin(histogram, k, false, 0);

  const uint32_t edge = histogram.found_bin;
  const uint32_t first = histogram.found_above;
  const uint32_t wanted = k - first;
  const bool whole = histogram.found_count == wanted;
  const bool any = !deterministic && shift == 0 && edge != kLastBin;  // a bin of equal keys
  if (!whole && !any && histogram.found_count > kMaxClose) return false;
  if (!whole) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (items.bins[item] != edge) continue;
      if (any) {
        const uint32_t place = atomicAdd(&shared.tie_cursor, 1u);
        if (place < wanted) selected[first + place] = items.positions[item];
      } else {
        shared.close[atomicAdd(&shared.close_count, 1u)] = {items.keys[item],
                                                            items.positions[item]};
      }
    }
  }
  PlaceWinners(&shared.above_cursor, items, whole ? edge : edge + 1, selected);
  __syncthreads();
  if (whole || any) return true;
  PlaceClose(shared, first, wanted, selected);
  __syncthreads();
  return true;
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_SELECT_FETCHED_CUH_
