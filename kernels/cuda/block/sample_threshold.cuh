// A threshold that probably leaves a little more than k scores of a row, from a sample of the row.
// Whether it did is counted afterwards: nothing depends on the sample but speed.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_SAMPLE_THRESHOLD_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_SAMPLE_THRESHOLD_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/rank_bracket.cuh"
#include "kernels/cuda/primitives/ordered_key.cuh"
#include "kernels/cuda/primitives/sample_places.h"
#include "kernels/cuda/primitives/thread_index.cuh"
#include "kernels/cuda/primitives/vector_load.cuh"
#include "kernels/cuda/primitives/warp_scan.cuh"

namespace winnow::cuda {

// Sample rank whose key leaves at least k of `length` scores except about once in 100,000 rows of
// independent scores: 4.5 standard deviations above the members of the top k expected in the
// sample.
__device__ __forceinline__ uint32_t SampleRank(uint32_t k, uint32_t samples, int32_t length) {
  const float expected =
      static_cast<float>(k) * __fdividef(static_cast<float>(samples), static_cast<float>(length));
  return static_cast<uint32_t>(expected + 4.5f * sqrtf(expected) + 2.0f);
}

// Of `samples` of a row, as many as stand for `scores` of its scores.
__device__ __forceinline__ uint32_t SamplesOf(uint32_t scores, uint32_t samples, int32_t length) {
  return static_cast<uint32_t>(static_cast<float>(scores) *
                               __fdividef(static_cast<float>(samples), static_cast<float>(length)));
}

inline constexpr uint32_t kAllEqual = 0xffffffffu;

// Bracket of about rank `rank` of the samples of all threads: its lowest key has at most a quarter
// more samples above it. Its count is kAllEqual when no sample within the rank differs from
// another. All threads call it after a barrier; ends with a barrier. Bins zero before and after.
template <int kThreads, int kKeys>
__device__ __forceinline__ RankBracket BracketOfSampleRank(HistogramShared<kThreads>& histogram,
                                                           const uint32_t (&keys)[kKeys],
                                                           uint32_t rank) {
  uint32_t high = keys[0];
  uint32_t low = keys[0];
#pragma unroll
  for (int i = 1; i < kKeys; ++i) {
    high = max(high, keys[i]);
    low = min(low, keys[i]);
  }
  // Each group of threads has a sample as large as its maximum. So with at least `rank` groups the
  // least of their maxima bounds the key from below, much closer than the smallest sample: few
  // samples are left to count, and none of the bins gets hot.
  if (rank <= kThreads) {
    low = high;
#pragma unroll 1
    for (uint32_t lanes = 1; lanes < 32 && rank * 2 * lanes <= kThreads; lanes *= 2) {
      low = max(low, __shfl_xor_sync(kAllLanes, low, lanes));
    }
  }
  BlockExtremes(histogram, low, high);
  if (low == high) {  // nothing to count; the barrier is what the caller expects
    __syncthreads();
    return {low, low, 0, kAllEqual};
  }
  return NarrowBracket<false>(histogram, RankBracket{low, high, 0, 0}, rank, max(8u, rank / 4),
                              [&](auto count) {
#pragma unroll
                                for (int i = 0; i < kKeys; ++i) count(keys[i], true);
                              });
}

// Threshold for the k best of a row that is longer than the `capacity` of the candidate buffer.
// When so many scores have a single key there that they would fill the buffer, they are a plateau:
// left out, for the lowest positions of them to be fetched when it turns out that some are needed.
// The threshold is then the key above, and one thread, always the same, calls note_plateau(key).
// All threads call it after a barrier; ends with a barrier. Bins zero before and after.
template <typename Score, int kThreads, typename NotePlateau>
__device__ __forceinline__ uint32_t SampleThreshold(HistogramShared<kThreads>& histogram,
                                                    const RowVectors<Score>& row, uint32_t k,
                                                    uint32_t capacity, NotePlateau note_plateau) {
  constexpr int kVectors = kSampleKeys / Score::kPerVector;
  constexpr uint32_t kStrata = kVectors * kThreads;
  constexpr uint32_t kSamples = kSampleKeys * kThreads;
  Vector16 loaded[kVectors];
  // Whole vectors only: the first and the last may be partly outside the row.
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    loaded[i] =
        row.LoadInside(1 + SampledVector(ThreadIndex() + i * kThreads, kStrata, row.count() - 2));
  }
  uint32_t keys[kSampleKeys];
#pragma unroll
  for (int i = 0; i < kSampleKeys; ++i) {
    keys[i] =
        Score::Key(Score::Element(loaded[i / Score::kPerVector].words, i % Score::kPerVector));
  }
  const RankBracket bracket =
      BracketOfSampleRank(histogram, keys, SampleRank(k, kSamples, row.length()));
  if (bracket.low == bracket.high && bracket.low >= Score::kNegativeInfinityKey &&
      bracket.count > SamplesOf(capacity / 2, kSamples, row.length())) {
    if (ThreadIndex() == 0) note_plateau(bracket.low);
    return bracket.low + 1;
  }
  return max(bracket.low, Score::kNegativeInfinityKey);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_SAMPLE_THRESHOLD_CUH_
