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

inline constexpr int kMaxParts = 256;   // blocks that may share a row
inline constexpr int kGatherBatch = 4;  // survivors of a thread that are on their way together

// Number and place of what each part left.
struct PartsShared {
  uint32_t counts[kMaxParts];
  uint32_t offsets[kMaxParts];
  uint32_t gathered;
};

// More survivors than the buffer holds: a scan of the lists with a rising threshold. All threads
// call it after a barrier; ends with a barrier.
template <typename Shape, typename ListOf>
__device__ __forceinline__ int32_t GatherByScan(SelectShared<Shape::kThreads>& select,
                                                PartsShared& shared, Candidate* candidates,
                                                int32_t parts, int32_t longest, uint32_t k,
                                                bool deterministic, ListOf list_of) {
  constexpr int kItems = 4;  // of a thread in a step
  constexpr int kStep = kItems * Shape::kThreads;
  static_assert(Shape::kCapacity - kStep >= Shape::kMaxResults + static_cast<int>(kMaxClose));
  const int32_t lane = ThreadIndex() & 31;
  const int32_t warp = ThreadIndex() >> 5;
  Threshold threshold;
  if (ThreadIndex() == 0) shared.gathered = 0;
  __syncthreads();
  for (int32_t first_part = 0; first_part < parts; first_part += Shape::kWarps) {
    for (int32_t base = 0; base < longest; base += 32 * kItems) {
      const uint32_t held = shared.gathered;
      __syncthreads();
      if (held + kStep > Shape::kCapacity) {
        uint32_t kept;
        threshold = CompactCandidates(select, candidates, static_cast<int32_t>(held), k,
                                      deterministic, kept);
        if (ThreadIndex() == 0) shared.gathered = kept;
        __syncthreads();
      }
      const int32_t part = first_part + warp;
      const uint32_t count = part < parts ? shared.counts[part] : 0;
      const Candidate* const list = list_of(part, count);
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
        const uint32_t place = WarpReserve(&shared.gathered, keep);
        if (keep) candidates[place] = items[item];
      }
      __syncthreads();
    }
  }
  return static_cast<int32_t>(shared.gathered);
}

// Copies survivors first, first + stride, ... of `count` to the same places of `target`.
// source(i) says where survivor i is; widen(key) is told of each.
template <typename Source, typename Widen>
__device__ __forceinline__ void CopySurvivors(int32_t first, int32_t stride, int32_t count,
                                              Candidate* target, Widen widen, Source source) {
  for (int32_t base = first; base < count; base += kGatherBatch * stride) {
    Candidate items[kGatherBatch];
#pragma unroll
    for (int i = 0; i < kGatherBatch; ++i) {
      if (base + i * stride < count) items[i] = *source(base + i * stride);
    }
#pragma unroll
    for (int i = 0; i < kGatherBatch; ++i) {
      if (base + i * stride >= count) continue;
      target[base + i * stride] = items[i];
      widen(items[i].key);
    }
  }
}

// The part that survivor `i` of all comes from.
__device__ __forceinline__ int32_t PartOf(const PartsShared& shared, int32_t parts, int32_t i) {
  int32_t part = 0;
#pragma unroll 1
  for (int32_t step = kMaxParts / 2; step > 0; step /= 2) {
    const int32_t next = part + step;
    if (next < parts && shared.offsets[next] <= static_cast<uint32_t>(i)) part = next;
  }
  return part;
}

// Brings the survivors of `parts` lists into candidates[0, result), of Shape::kCapacity: all of
// them, or when they do not fit at least the k best. shared.counts holds their numbers, and
// list_of(part, count) gives the list of a part. Shares their extremes for SelectCandidates. All
// threads call it after a barrier; ends with a barrier.
template <typename Shape, typename ListOf>
__device__ __forceinline__ int32_t GatherSurvivors(SelectShared<Shape::kThreads>& select,
                                                   PartsShared& shared, Candidate* candidates,
                                                   int32_t parts, uint32_t k, bool deterministic,
                                                   ListOf list_of) {
  static_assert(kMaxParts <= Shape::kThreads);
  const int32_t thread = ThreadIndex();
  const uint32_t mine = thread < parts ? shared.counts[thread] : 0;
  uint32_t total;
  const uint32_t offset = BlockExclusiveSum(select.histogram, mine, total);
  if (thread < parts) shared.offsets[thread] = offset;  // the next barrier is in either branch
  uint32_t low = kNoLimit;
  uint32_t high = 0;
  const auto widen = [&](uint32_t key) {
    low = min(low, key);
    high = max(high, key);
  };
  if (total > Shape::kCapacity) {
    uint32_t shortest = kNoLimit;
    uint32_t longest = mine;
    BlockExtremes(select.histogram, shortest, longest);
    total = GatherByScan<Shape>(select, shared, candidates, parts, static_cast<int32_t>(longest), k,
                                deterministic, list_of);
    for (uint32_t i = thread; i < total; i += Shape::kThreads) widen(candidates[i].key);
  } else {
    // Each part gets an equal group of threads, a power of two: all lists are on their way at once.
    int shift = 3;
    while (parts << (shift + 1) <= Shape::kThreads) ++shift;
    const int32_t group = 1 << shift;
    if (__syncthreads_or(mine > 4u * kGatherBatch << shift)) {
      // A list so long that its group would keep all others waiting: threads take what comes.
      CopySurvivors(thread, Shape::kThreads, static_cast<int32_t>(total), candidates, widen,
                    [&](int32_t i) {
                      const int32_t part = PartOf(shared, parts, i);
                      return list_of(part, shared.counts[part]) +
                             (i - static_cast<int32_t>(shared.offsets[part]));
                    });
    } else {
      for (int32_t part = thread >> shift; part < parts; part += Shape::kThreads >> shift) {
        const uint32_t count = shared.counts[part];
        const Candidate* const list = list_of(part, count);
        CopySurvivors(thread & (group - 1), group, static_cast<int32_t>(count),
                      candidates + shared.offsets[part], widen,
                      [&](int32_t i) { return list + i; });
      }
    }
  }
  ShareExtremes(select.histogram, low, high);
  __syncthreads();
  return static_cast<int32_t>(total);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_GATHER_SURVIVORS_CUH_
