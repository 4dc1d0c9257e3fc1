// Finding the key of a given rank among keys scattered over a block: a histogram over a bracket of
// keys, the bin in which the count from the top reaches the rank, and again inside that bin. The
// bins spread evenly over the bracket, so that few rounds do whatever the scale of the data. Next:
// select_candidates.cuh and exact_row.cuh, the users.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_RANK_BRACKET_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_RANK_BRACKET_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/primitives/thread_index.cuh"
#include "kernels/cuda/primitives/warp_scan.cuh"

namespace winnow::cuda {

// Scratch of a block of kThreads threads; a power of two from 256 to 1024.
template <int kThreads>
struct HistogramShared {
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kBins = 4 * kThreads;
  static constexpr int kLogBins = kThreads == 1024 ? 12 : kThreads == 512 ? 11 : 10;
  static_assert(kBins == 1 << kLogBins);

  // All zero between uses. The 32 words past the bins, one per lane, take what falls into no bin:
  // counting them anyway is cheaper than a branch around the atomic.
  alignas(16) uint32_t bins[kBins + 32];
  uint32_t warp_low[kWarps];
  uint32_t warp_high[kWarps];
  uint32_t warp_sums[kWarps];
  uint32_t found_bin;    // of the last FindBin
  uint32_t found_above;  // keys in higher bins
  uint32_t found_count;  // keys in the bin
};

// Keys [low, high] that hold a rank; `above` keys are larger than `high`.
struct RankBracket {
  uint32_t low = 0;
  uint32_t high = 0;
  uint32_t above = 0;
  uint32_t count = 0;  // keys in it
};

// Zeroes the bins. No barrier.
template <int kThreads>
__device__ __forceinline__ void ClearBins(HistogramShared<kThreads>& shared) {
  reinterpret_cast<uint4*>(shared.bins)[ThreadIndex()] = make_uint4(0, 0, 0, 0);
}

// Bins of width 1 << shift cover a range of `range` + 1 keys.
template <int kThreads>
__device__ __forceinline__ int BinShift(uint32_t range) {
  return max(0, 32 - HistogramShared<kThreads>::kLogBins - __clz(static_cast<int>(range)));
}

// Bin of a key in the bracket; the lane's spare word for one outside.
template <int kThreads>
__device__ __forceinline__ uint32_t BinOf(uint32_t key, uint32_t low, uint32_t range, int shift) {
  const uint32_t distance = key - low;
  return distance <= range ? distance >> shift
                           : HistogramShared<kThreads>::kBins + (ThreadIndex() & 31);
}

// Counts a key in its bin; lanes that agree with the first one make one addition together, which
// keeps rows of many equal scores from serialising on one address. All lanes of the warp call it.
template <int kThreads>
__device__ __forceinline__ void CountKey(HistogramShared<kThreads>& histogram, uint32_t bin) {
  const uint32_t first = __shfl_sync(kAllLanes, bin, 0);
  const uint32_t same = __ballot_sync(kAllLanes, bin == first);
  if ((ThreadIndex() & 31) == 0) {
    atomicAdd(&histogram.bins[bin], static_cast<uint32_t>(__popc(same)));
  } else if (bin != first) {
    atomicAdd(&histogram.bins[bin], 1u);
  }
}

// Leaves the smallest `low` and the largest `high` of each warp for ReadExtremes. No barrier.
template <int kThreads>
__device__ __forceinline__ void ShareExtremes(HistogramShared<kThreads>& shared, uint32_t low,
                                              uint32_t high) {
  low = __reduce_min_sync(kAllLanes, low);
  high = __reduce_max_sync(kAllLanes, high);
  if ((ThreadIndex() & 31) == 0) {
    shared.warp_low[ThreadIndex() >> 5] = low;
    shared.warp_high[ThreadIndex() >> 5] = high;
  }
}

// The extremes that the threads of the block shared before the last barrier. The next ShareExtremes
// must follow another one.
template <int kThreads>
__device__ __forceinline__ void ReadExtremes(const HistogramShared<kThreads>& shared, uint32_t& low,
                                             uint32_t& high) {
  const int lane = ThreadIndex() & 31;
  low = __reduce_min_sync(kAllLanes, shared.warp_low[lane % HistogramShared<kThreads>::kWarps]);
  high = __reduce_max_sync(kAllLanes, shared.warp_high[lane % HistogramShared<kThreads>::kWarps]);
}

// Smallest `low` and largest `high` of the block, in every thread. All threads call it; one barrier
// inside, none at the end.
template <int kThreads>
__device__ __forceinline__ void BlockExtremes(HistogramShared<kThreads>& shared, uint32_t& low,
                                              uint32_t& high) {
  ShareExtremes(shared, low, high);
  __syncthreads();
  ReadExtremes(shared, low, high);
}

// Sum of `value` over the threads before this one; `total` is that over all. All threads call it;
// one barrier inside, none at the end.
template <int kThreads>
__device__ __forceinline__ uint32_t BlockExclusiveSum(HistogramShared<kThreads>& shared,
                                                      uint32_t value, uint32_t& total) {
  constexpr int kWarps = HistogramShared<kThreads>::kWarps;
  const int lane = ThreadIndex() & 31;
  const int warp = ThreadIndex() >> 5;
  const uint32_t inclusive = WarpInclusiveSum(value);
  if (lane == 31) shared.warp_sums[warp] = inclusive;
  __syncthreads();
  const uint32_t warp_sum = lane < kWarps ? shared.warp_sums[lane] : 0;
  total = __reduce_add_sync(kAllLanes, warp_sum);
  return __reduce_add_sync(kAllLanes, lane < warp ? warp_sum : 0) + inclusive - value;
}

// Finds the bin in which the count from the top reaches `rank` (1 to the keys counted) and leaves
// it in found_*. Leaves the bins zero, or, with `keep_offsets`, each with `base` plus the keys in
// higher bins: where its first member belongs in descending order. All threads call it after a
// barrier that follows the last count; ends with a barrier.
template <int kThreads>
__device__ __forceinline__ void FindBin(HistogramShared<kThreads>& shared, uint32_t rank,
                                        bool keep_offsets, uint32_t base) {
  // Thread 0 takes the four highest bins, so that a prefix sum counts from the top.
  const int group = kThreads - 1 - ThreadIndex();
  uint4* const mine = reinterpret_cast<uint4*>(shared.bins) + group;
  const uint4 counts = *mine;
  const uint32_t sum = counts.x + counts.y + counts.z + counts.w;
  uint32_t total;
  uint32_t above = BlockExclusiveSum(shared, sum, total);
  if (keep_offsets) {
    const uint32_t offset = base + above;
    *mine = make_uint4(offset + counts.w + counts.z + counts.y, offset + counts.w + counts.z,
                       offset + counts.w, offset);
  } else {
    *mine = make_uint4(0, 0, 0, 0);
  }
  if (above < rank && rank <= above + sum) {  // true for one thread of the block
    uint32_t count = counts.w;
    int bin = 3;
    const auto descend = [&](uint32_t next_count, int next_bin) {
      if (above + count >= rank) return;
      above += count;
      count = next_count;
      bin = next_bin;
    };
    descend(counts.z, 2);
    descend(counts.y, 1);
    descend(counts.x, 0);
    shared.found_bin = static_cast<uint32_t>(4 * group + bin);
    shared.found_above = above;
    shared.found_count = count;
  }
  __syncthreads();
}

// Narrows [low, high] until it holds the `rank`-th largest key and no more than `tolerance` keys,
// or is one key, or ends exactly below the rank-th key (above + count == rank: all of it is
// wanted). `count_each(add)` calls add(key) for every key of the thread; warps must be whole. Keys
// outside the bracket are passed over; those above it must be `above` in number. Bins zero before
// and after; all threads call it after a barrier, and it ends with one.
template <bool kManyEqual, int kThreads, typename CountEach>
__device__ __forceinline__ RankBracket NarrowBracket(HistogramShared<kThreads>& shared,
                                                     RankBracket bracket, uint32_t rank,
                                                     uint32_t tolerance, CountEach count_each) {
  for (;;) {
    const uint32_t range = bracket.high - bracket.low;
    const int shift = BinShift<kThreads>(range);
    count_each([&](uint32_t key, bool valid) {
      const uint32_t bin = BinOf<kThreads>(key, bracket.low, range, shift);
      if constexpr (kManyEqual) {
        CountKey(shared, valid ? bin : HistogramShared<kThreads>::kBins + (ThreadIndex() & 31));
      } else if (valid) {
        atomicAdd(&shared.bins[bin], 1u);
      }
    });
    __syncthreads();
    FindBin(shared, rank - bracket.above, false, 0);
    bracket.above += shared.found_above;
    bracket.count = shared.found_count;
    bracket.low += shared.found_bin << shift;
    bracket.high = min(bracket.high, bracket.low + ((1u << shift) - 1u));
    if (shift == 0 || bracket.count <= tolerance || bracket.above + bracket.count == rank) {
      return bracket;
    }
  }
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_RANK_BRACKET_CUH_
