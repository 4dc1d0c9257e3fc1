// Top-k with one block a row that it holds in registers: one read, the threshold from a sample of
// the registers, no atomic per score. When the candidate buffer is full (equal scores in plenty)
// the registers are compared again with what is above the threshold. Rows that do not fit the
// registers are right as well: the rest of them is read tile by tile, only slower than by the
// streaming route. Next: block/scan_row.cuh and block/finish_row.cuh.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_TOPK_SHORT_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_TOPK_SHORT_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/begin_row.cuh"
#include "kernels/cuda/block/finish_row.cuh"
#include "kernels/cuda/block/scan_row.cuh"
#include "kernels/cuda/block/select_fetched.cuh"
#include "kernels/cuda/primitives/sample_places.h"
#include "kernels/cuda/primitives/shared_memory.cuh"

namespace winnow::cuda {

// Threshold from two of each thread's scores. As SampleThreshold.
template <typename Score, typename Shape>
__device__ __forceinline__ uint32_t RegisterThreshold(ScanShared<Shape>& shared,
                                                      const Tile<Shape>& tile, int32_t length,
                                                      uint32_t k) {
  constexpr int kScores = Shape::kLoads * Score::kPerVector;  // of a thread
  constexpr int kChoices = RegisterChoices(kScores);
  const uint32_t hash = HashOf(ThreadIndex());
  uint32_t keys[kRegisterSamples];
#pragma unroll
  for (int sample = 0; sample < kRegisterSamples; ++sample) {
    const int choice = RegisterChoice(hash, sample, kChoices);
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < kChoices; ++i) {
      const RegisterPlace place = RegisterPlaceOf(sample, i, kScores, Score::kPerVector);
      const uint32_t here = Score::Element(tile.vectors[place.vector].words, place.element);
      bits = choice == i ? here : bits;
    }
    keys[sample] = Score::Key(bits);
  }
  // Each score is sampled with the same probability, however many of the registers are in the row.
  constexpr int32_t kHeld = Shape::kThreads * kScores;
  const uint32_t rank = SampleRank(k, kRegisterSamples * Shape::kThreads, max(length, kHeld));
  return max(BracketOfSampleRank(shared.select.histogram, keys, rank).low,
             Score::kNegativeInfinityKey);
}

// Brings the positions of the scores from key `threshold` on into the candidate buffer and returns
// their number. Should they not fit, nearly always because the key is that of many, only those
// above it are brought, and finish.plateau becomes the key; should these not fit either, none are.
// `held` is this warp's first tile. All threads call it after a barrier that follows ClearScan;
// ends with a barrier.
template <typename Score, typename Shape>
__device__ __forceinline__ int32_t CollectHeld(RowShared<Shape>& shared,
                                               const RowVectors<Score>& row, Tile<Shape>& held,
                                               uint32_t threshold) {
  const int32_t tiles = TileCount<Score, Shape>(row);
  int32_t tile = ThreadIndex() >> 5;
  const auto append = [&](uint32_t key) {
    while (tile < tiles) {
      if (!AppendTile(shared.scan, row, held, tile, Threshold{key})) return false;
      tile += Shape::kWarps;
      if (tile < tiles) LoadTile<true>(row, tile, held);
    }
    return true;
  };
  for (uint32_t key = threshold;; ++key) {
    const bool full = __syncthreads_or(!append(key));
    if (!full) return static_cast<int32_t>(shared.scan.count);
    const bool gives_up = key != threshold;
    if (ThreadIndex() == 0) {
      shared.scan.count = 0;
      shared.finish.plateau = gives_up ? 0 : key;
    }
    __syncthreads();
    if (gives_up) return 0;
    tile = ThreadIndex() >> 5;
    LoadTile<true>(row, tile, held);
  }
}

// Selects from the opened row and writes its results. All threads call it.
template <typename Score, typename Shape>
__device__ __forceinline__ void SelectShortRow(const TopKBatch& batch, RowShared<Shape>& shared,
                                               const RowWindow& window) {
  const RowVectors<Score> row(window.scores, window.length);
  const bool selects = window.length > batch.k;
  Tile<Shape> held;
  if (selects) LoadTile<true>(row, ThreadIndex() >> 5, held);
  __syncthreads();
  if (!selects) {
    WriteShortRow<Score>(batch, shared.finish, shared.scan.select.histogram,
                         reinterpret_cast<uint64_t*>(shared.scan.candidates));
    return;
  }
  const uint32_t k = static_cast<uint32_t>(batch.k);
  uint32_t threshold = Score::kNegativeInfinityKey;
  // A row of which most scores are wanted needs no threshold: all of it fits the buffer.
  const bool sampled = window.length > 2 * batch.k;
  if (sampled) threshold = RegisterThreshold<Score>(shared.scan, held, window.length, k);
  const int32_t count = CollectHeld(shared, row, held, threshold);
  // Candidates of a thread: what a sample lets pass nearly always fits.
  constexpr int kItems = Shape::kMaxResults <= 512 ? 3 : 8;
  if (!sampled ||
      !SelectFetched<Score, kItems>(shared.scan.select, shared.scan.candidates, count, row,
                                    threshold, k, batch.deterministic, shared.finish.selected)) {
    uint32_t highest = 0;
    FetchKeys(shared.scan, row, 0, count, threshold, highest);
    SelectRow<Score, false>(batch, shared.finish, shared.scan.select, shared.scan.candidates,
                            count);
  }
  WriteOrdered<Score, Shape::kThreads>(batch, shared.finish, shared.scan.select.histogram,
                                       reinterpret_cast<uint64_t*>(shared.scan.candidates));
}

// One block of Shape::kThreads for each row of the launch; k <= Shape::kMaxResults.
template <typename Score, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerMultiprocessor)
    TopKShort(const __grid_constant__ TopKBatch batch) {
  auto& shared = DynamicShared<RowShared<Shape>>();
  const OpenedRow opened = BeginRow<Score>(batch, shared, static_cast<int32_t>(blockIdx.x));
  SelectShortRow<Score>(batch, shared, opened.window);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_TOPK_SHORT_CUH_
