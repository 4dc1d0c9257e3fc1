// Collects the survivors that several blocks left of one row.
// Next: scan_row.cuh, which made them, and select_candidates.cuh, which chooses among them.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_GATHER_SURVIVORS_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_GATHER_SURVIVORS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/compact_candidates.cuh"
#include "kernels/cuda/block/select_candidates.cuh"
#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/primitives/thread_index.cuh"
#include "kernels/cuda/primitives/warp_scan.cuh"

namespace winnow::cuda {

inline constexpr int kMaxParts = 256;  // blocks that may share a row

template <typename Shape>
struct GatherShared {
  Candidate candidates[Shape::kCapacity];
  SelectShared<Shape::kThreads> select;
  int32_t part_counts[kMaxParts];
  uint32_t part_offsets[kMaxParts];
  uint32_t count;
};

// More survivors than the buffer holds: a scan of the lists with a rising threshold. All threads
// call it after a barrier; ends with a barrier.
template <typename Shape>
__device__ __forceinline__ int32_t GatherByScan(GatherShared<Shape>& shared, const Candidate* lists,
                                                int32_t parts, int32_t longest, uint32_t k,
                                                bool deterministic) {
  constexpr int kItems = 4;  // of a thread in a step
  constexpr int kStep = kItems * Shape::kThreads;
  static_assert(Shape::kCapacity - kStep >= Shape::kMaxResults + static_cast<int>(kMaxClose));
  const int32_t lane = ThreadIndex() & 31;
  const int32_t warp = ThreadIndex() >> 5;
  Threshold threshold;
  if (ThreadIndex() == 0) shared.count = 0;
  __syncthreads();
  for (int32_t first_part = 0; first_part < parts; first_part += Shape::kWarps) {
    for (int32_t base = 0; base < longest; base += 32 * kItems) {
      const uint32_t held = shared.count;
      __syncthreads();
      if (held + kStep > Shape::kCapacity) {
        uint32_t kept;
        threshold = CompactCandidates(shared.select, shared.candidates, static_cast<int32_t>(held),
                                      k, deterministic, kept);
        if (ThreadIndex() == 0) shared.count = kept;
        __syncthreads();
      }
      const int32_t part = first_part + warp;
      const int32_t count = part < parts ? shared.part_counts[part] : 0;
      const Candidate* list = lists + static_cast<int64_t>(part) * Shape::kCapacity;
      Candidate items[kItems];
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        const int32_t i = base + 32 * item + lane;
        items[item] = i < count ? list[i] : Candidate{0, kNoLimit};
      }
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        const bool keep = base + 32 * item + lane < count && Passes(threshold, items[item]);
        if (!__any_sync(kAllLanes, keep)) continue;
        const uint32_t place = WarpReserve(&shared.count, keep);
        if (keep) shared.candidates[place] = items[item];
      }
      __syncthreads();
    }
  }
  return static_cast<int32_t>(shared.count);
}

// Brings the survivors of `parts` lists, Shape::kCapacity apart, into candidates[0, result) of the
// shared memory: all of them, or when they do not fit at least the k best. Shares their extremes
// for SelectCandidates. All threads call it after a barrier; ends with a barrier.
template <typename Shape>
__device__ __forceinline__ int32_t GatherSurvivors(GatherShared<Shape>& shared,
                                                   const Candidate* lists, const int32_t* counts,
                                                   int32_t parts, uint32_t k, bool deterministic) {
  static_assert(kMaxParts <= Shape::kThreads);
  HistogramShared<Shape::kThreads>& histogram = shared.select.histogram;
  const int32_t thread = ThreadIndex();
  const int32_t mine = thread < parts ? counts[thread] : 0;
  uint32_t total;
  const uint32_t offset = BlockExclusiveSum(histogram, static_cast<uint32_t>(mine), total);
  if (thread < parts) {
    shared.part_counts[thread] = mine;
    shared.part_offsets[thread] = offset;
  }
  __syncthreads();
  uint32_t low = kNoLimit;
  uint32_t high = 0;
  const auto widen = [&](uint32_t key) {
    low = min(low, key);
    high = max(high, key);
  };
  if (total > Shape::kCapacity) {
    uint32_t shortest = kNoLimit;
    uint32_t longest = static_cast<uint32_t>(mine);
    BlockExtremes(histogram, shortest, longest);
    total = GatherByScan(shared, lists, parts, static_cast<int32_t>(longest), k, deterministic);
    for (uint32_t i = thread; i < total; i += Shape::kThreads) widen(shared.candidates[i].key);
  } else {
    // Groups of lanes take a part each, so that short lists do not leave most of a warp idle.
    constexpr int kGroup = 8;
    for (int32_t part = thread / kGroup; part < parts; part += Shape::kThreads / kGroup) {
      const Candidate* const list = lists + static_cast<int64_t>(part) * Shape::kCapacity;
      const int32_t count = shared.part_counts[part];
      Candidate* const target = shared.candidates + shared.part_offsets[part];
#pragma unroll 4
      for (int32_t i = thread % kGroup; i < count; i += kGroup) {
        const Candidate candidate = list[i];
        target[i] = candidate;
        widen(candidate.key);
      }
    }
  }
  ShareExtremes(histogram, low, high);
  __syncthreads();
  return static_cast<int32_t>(total);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_GATHER_SURVIVORS_CUH_
