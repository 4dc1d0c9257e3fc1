// One pass over a slice of a row that keeps the scores above a threshold as candidates. The bulk of
// the scores costs a compare and a bit each; a full buffer is compacted and the threshold rises, so
// nothing is read twice.
// Next: sample_threshold.cuh for the first threshold, select_candidates.cuh for what follows.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_SCAN_ROW_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_SCAN_ROW_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/compact_candidates.cuh"
#include "kernels/cuda/block/sample_threshold.cuh"
#include "kernels/cuda/block/select_candidates.cuh"
#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/primitives/ordered_key.cuh"
#include "kernels/cuda/primitives/thread_index.cuh"
#include "kernels/cuda/primitives/vector_load.cuh"
#include "kernels/cuda/primitives/warp_scan.cuh"

namespace winnow::cuda {

// Sizes of the kernels that scan: results at most, threads, 16-byte loads of a thread in a tile
// (two tiles are in flight), blocks that should fit a multiprocessor, and whether the keys of
// scores that pass are taken from the registers at once: that costs every tile in which one passes
// several instructions a score, but fetching them afterwards costs a sector of memory each once L2
// has lost them; and candidates that fit the buffer.
template <int kMaxResults_, int kThreads_, int kLoads_, int kBlocksPerMultiprocessor_,
          bool kKeepsKeys_ = false, int kCapacity_ = kMaxResults_ <= 512 ? 4096 : 8192>
struct ScanShape {
  static constexpr int kMaxResults = kMaxResults_;
  static constexpr int kThreads = kThreads_;
  static constexpr int kLoads = kLoads_;
  static constexpr int kBlocksPerMultiprocessor = kBlocksPerMultiprocessor_;
  static constexpr bool kKeepsKeys = kKeepsKeys_;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kCapacity = kCapacity_;
  static constexpr int kTileVectors = 32 * kLoads;  // of a warp
  static_assert(kCapacity <= 32 * kThreads);
};

template <typename Shape>
struct ScanShared {
  Candidate candidates[Shape::kCapacity];
  SelectShared<Shape::kThreads> select;
  uint32_t count;          // candidates asked for; more than the capacity once one was refused
  uint32_t first_refused;  // the first place that was refused
};

// A warp's tile: this lane's vectors.
template <typename Shape>
struct Tile {
  Vector16 vectors[Shape::kLoads];
};

// Loads tile number `tile`; scores outside the row read as NaN. kReuse: read them into L1, for rows
// so short that the scores that pass are still there when their values are fetched. Whole warps
// call it.
template <bool kReuse, typename Score, typename Shape>
__device__ __forceinline__ void LoadTile(const RowVectors<Score>& row, int32_t tile,
                                         Tile<Shape>& loaded) {
  const int32_t first = tile * Shape::kTileVectors;
  const int32_t mine = first + (ThreadIndex() & 31);
  if (row.Inside(first, Shape::kTileVectors)) {
#pragma unroll
    for (int i = 0; i < Shape::kLoads; ++i)
      loaded.vectors[i] = row.template LoadInside<kReuse>(mine + 32 * i);
  } else {
#pragma unroll
    for (int i = 0; i < Shape::kLoads; ++i)
      loaded.vectors[i] = row.template Load<kReuse>(mine + 32 * i);
  }
}

// Appends what the mask says: one bit for each of this lane's scores of the tile that passes, in
// the order of Score::AtLeastMask. Positions, and keys where the shape keeps them.
template <typename Score, typename Shape>
__device__ __forceinline__ void AppendMasked(const Tile<Shape>& loaded, uint32_t mask,
                                             int32_t first_position, Candidate* next) {
  if constexpr (Shape::kKeepsKeys) {
#pragma unroll
    for (int load = 0; load < Shape::kLoads; ++load) {
#pragma unroll
      for (int element = 0; element < Score::kPerVector; ++element) {
        const int word = 4 * load + element / Score::kPerWord;
        if ((mask & 1u << (word + 16 * (element % Score::kPerWord))) == 0) continue;
        const int32_t position = first_position + 32 * Score::kPerVector * load + element;
        *next++ = {Score::Key(Score::Element(loaded.vectors[load].words, element)),
                   static_cast<uint32_t>(position)};
      }
    }
  } else {
    for (; mask != 0; mask &= mask - 1) {
      const int32_t offset = Score::TilePosition(__ffs(mask) - 1);
      (next++)->position = static_cast<uint32_t>(first_position + offset);
    }
  }
}

// Appends the tile's scores that pass. False, with nothing appended, when they do not all fit.
// Whole warps call it.
template <typename Score, typename Shape>
__device__ __forceinline__ bool AppendTile(ScanShared<Shape>& shared, const RowVectors<Score>& row,
                                           const Tile<Shape>& loaded, int32_t tile,
                                           const Threshold& threshold) {
  static_assert(4 * Shape::kLoads * Score::kPerWord <= 32, "one mask bit for each score");
  const int32_t lane = ThreadIndex() & 31;
  const int32_t tile_position = row.FirstPosition(tile * Shape::kTileVectors);
  // Tiles that start at or after the limit hold no equal score that still matters.
  const bool equal_matters =
      tile_position < 0 || static_cast<uint32_t>(tile_position) < threshold.position_limit;
  const uint32_t compared = Score::Threshold(equal_matters ? threshold.key : threshold.key + 1);
  uint32_t mask = 0;
#pragma unroll
  for (int word = 0; word < 4 * Shape::kLoads; ++word) {
    Score::AtLeastMask(mask, loaded.vectors[word / 4].words[word % 4], word, compared);
  }
  if (!__any_sync(kAllLanes, mask != 0)) return true;
  const uint32_t mine = __popc(mask);
  const uint32_t inclusive = WarpInclusiveSum(mine);
  const uint32_t total = __shfl_sync(kAllLanes, inclusive, 31);
  uint32_t place = 0;
  if (lane == 0) place = atomicAdd(&shared.count, total);
  place = __shfl_sync(kAllLanes, place, 0);
  if (place + total > Shape::kCapacity) {
    if (lane == 0) atomicMin(&shared.first_refused, place);
    return false;
  }
  AppendMasked<Score>(loaded, mask, tile_position + Score::kPerVector * lane,
                      shared.candidates + place + inclusive - mine);
  return true;
}

// Fetches the keys of candidates[begin, end), whose positions were appended, unless the shape keeps
// them, and shares the extremes of all candidates for SelectCandidates; none is below `low`, and
// `highest` is this thread's highest so far. All threads call it after a barrier; ends with a
// barrier.
template <typename Score, typename Shape>
__device__ __forceinline__ void FetchKeys(ScanShared<Shape>& shared, const RowVectors<Score>& row,
                                          int32_t begin, int32_t end, uint32_t low,
                                          uint32_t& highest) {
#pragma unroll 2
  for (int32_t i = begin + ThreadIndex(); i < end; i += Shape::kThreads) {
    Candidate& candidate = shared.candidates[i];
    if constexpr (!Shape::kKeepsKeys) candidate.key = Score::Key(row.Bits(candidate.position));
    highest = max(highest, candidate.key);
  }
  ShareExtremes(shared.select.histogram, low, highest);
  __syncthreads();
}

// Scans tiles from `tile` on, one warp a tile, until the slice ends or the buffer is full; `tile`
// is then the first of this warp's that is not in the buffer. False when the buffer is full.
template <typename Score, typename Shape>
__device__ __forceinline__ bool ScanTiles(ScanShared<Shape>& shared, const RowVectors<Score>& row,
                                          const Threshold& threshold, int32_t& tile,
                                          int32_t end_tile) {
  Tile<Shape> even;
  Tile<Shape> odd;
  if (tile < end_tile) LoadTile<false>(row, tile, even);
  while (tile < end_tile) {  // warps run freely: no barrier per tile
    if (tile + Shape::kWarps < end_tile) LoadTile<false>(row, tile + Shape::kWarps, odd);
    if (!AppendTile(shared, row, even, tile, threshold)) return false;
    tile += Shape::kWarps;
    if (tile >= end_tile) break;
    if (tile + Shape::kWarps < end_tile) LoadTile<false>(row, tile + Shape::kWarps, even);
    if (!AppendTile(shared, row, odd, tile, threshold)) return false;
    tile += Shape::kWarps;
  }
  return true;
}

// Empties a full buffer of `held` candidates down to the k best, `kept` in number with ties, and
// returns the threshold that the rest must pass. All threads call it after a barrier; ends with a
// barrier.
template <typename Shape>
__device__ __forceinline__ Threshold MakeRoom(ScanShared<Shape>& shared, int32_t held, uint32_t k,
                                              bool deterministic, uint32_t& kept) {
  const Threshold threshold =
      CompactCandidates(shared.select, shared.candidates, held, k, deterministic, kept);
  if (ThreadIndex() == 0) {
    shared.count = kept;
    shared.first_refused = kNoLimit;
  }
  __syncthreads();
  return threshold;
}

// Prepares the shared memory of a scan. All threads call it; a barrier must follow.
template <typename Shape>
__device__ __forceinline__ void ClearScan(ScanShared<Shape>& shared) {
  ClearBins(shared.select.histogram);
  if (ThreadIndex() == 0) {
    shared.count = 0;
    shared.first_refused = kNoLimit;
  }
}

// Fills the candidate buffer by calls of scan(threshold), which appends what this warp has left to
// append and returns false when the buffer is full; a full buffer is compacted and scan called
// again. Returns the candidates' number. They hold every scanned score that is among the row's k
// best and passes the first threshold, and, once any was dropped, at least k scores; their extremes
// are shared for SelectCandidates. All threads call it after a barrier that follows ClearScan; ends
// with a barrier.
template <typename Score, typename Shape, typename Scan>
__device__ __forceinline__ int32_t CollectCandidates(ScanShared<Shape>& shared,
                                                     const RowVectors<Score>& row,
                                                     Threshold threshold, uint32_t k,
                                                     bool deterministic, Scan scan) {
  int32_t keyed = 0;  // candidates whose keys are known
  uint32_t highest = 0;
  for (;;) {
    const bool full = __syncthreads_or(!scan(threshold));
    const int32_t held = static_cast<int32_t>(min(shared.count, shared.first_refused));
    FetchKeys(shared, row, keyed, held, threshold.key, highest);
    if (!full) return held;
    uint32_t kept;
    threshold = MakeRoom(shared, held, k, deterministic, kept);
    keyed = static_cast<int32_t>(kept);
    // Keys that are there can be looked at again: two registers less to carry through the scan.
    if constexpr (Shape::kKeepsKeys) keyed = highest = 0;
  }
}

// Scans tiles [begin_tile, end_tile) of the row. As CollectCandidates.
template <typename Score, typename Shape>
__device__ __forceinline__ int32_t ScanSlice(ScanShared<Shape>& shared,
                                             const RowVectors<Score>& row, int32_t begin_tile,
                                             int32_t end_tile, Threshold threshold, uint32_t k,
                                             bool deterministic) {
  int32_t tile = begin_tile + (ThreadIndex() >> 5);
  return CollectCandidates(shared, row, threshold, k, deterministic, [&](const Threshold& current) {
    return ScanTiles<Score>(shared, row, current, tile, end_tile);
  });
}

// Tiles of a row.
template <typename Score, typename Shape>
__device__ __forceinline__ int32_t TileCount(const RowVectors<Score>& row) {
  return (row.count() + Shape::kTileVectors - 1) / Shape::kTileVectors;
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_SCAN_ROW_CUH_
