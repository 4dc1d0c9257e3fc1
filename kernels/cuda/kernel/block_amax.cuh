// The largest score of each block of adjacent positions. A thread block reduces one tile of one
// row: each thread two 16-byte vectors, each warp fully coalesced, no shared memory. The time is
// that of reading the scores and writing the keys.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_BLOCK_AMAX_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_BLOCK_AMAX_CUH_

#include <cstdint>
#include <utility>

#include "kernels/cuda/block/block_amax_work.h"
#include "kernels/cuda/primitives/dependent_launch.cuh"
#include "kernels/cuda/primitives/fault.cuh"
#include "kernels/cuda/primitives/page_lookup.cuh"
#include "kernels/cuda/primitives/score_vector.cuh"
#include "kernels/cuda/primitives/work_lookup.cuh"
#include "kernels/cuda/primitives/work_table.h"

namespace winnow::cuda {

// Two vectors a thread is the measured best: one leaves too few loads in flight, four too few
// blocks for a single row.
inline constexpr int kAmaxVectors = 2;
inline constexpr int kAmaxThreads = 256;
template <typename Score>
inline constexpr int kAmaxTile = kAmaxThreads* kAmaxVectors* kScoresPerVector<Score>;

// The row's length, or 0 when it is empty or something about it is wrong. `report` says whether
// this thread records what.
template <int kBlockSize>
__device__ __forceinline__ int32_t AmaxWindow(const BlockAmaxWork& work, int32_t row,
                                              int32_t length, bool report) {
  const BlockAmaxSegment& segment = work.segment;
  if (length <= 0) {
    if (length < 0 && report) CountNegativeRow(segment.report);
    return 0;
  }
  if (length > segment.columns) {
    if (report) {
      ReportFault(segment.report, FaultKind::kLengthOutOfRange, row, 0, length, segment.columns);
    }
    return 0;
  }
  const int32_t blocks = (length - 1) / kBlockSize + 1;
  if (blocks > segment.keys_columns) {
    if (report) {
      ReportFault(segment.report, FaultKind::kKeysTooNarrow, row, 0, blocks, segment.keys_columns);
    }
    return 0;
  }
  if (work.pages.page_table != nullptr &&
      !CheckPageRow(work.pages, row, length, segment.report, report)) {
    return 0;
  }
  return length;
}

// Vector `vector` of a row; NaN for positions past the row's columns, and anywhere past `end`.
template <typename Score>
__device__ __forceinline__ uint4 LoadAmaxVector(const Score* scores, int32_t vector, int32_t end,
                                                int32_t columns, bool aligned) {
  const int32_t position = vector * kScoresPerVector<Score>;
  if (aligned && position < end && position + kScoresPerVector<Score> <= columns) {
    return LoadStreamed16(scores + position);
  }
  return LoadPartVector(scores + position, end - position);
}

__device__ __forceinline__ void StoreKey(const BlockAmaxSegment& segment, int32_t row,
                                         int32_t block, int32_t blocks, float key) {
  if (block >= blocks) return;
  // The sum makes +0 of a zero of either sign.
  segment.keys[row * segment.keys_row_stride + block] =
      block == blocks - 1 ? Infinity() : key + 0.0f;
}

// Stores the keys of the blocks that one vector holds.
template <typename Score, int kBlockSize, int... kKey>
__device__ __forceinline__ void StoreVectorKeys(const BlockAmaxSegment& segment, int32_t row,
                                                int32_t first_block, int32_t blocks,
                                                const uint4& vector,
                                                std::integer_sequence<int, kKey...>) {
  (StoreKey(segment, row, first_block + kKey, blocks,
            MaxOf<Score, kKey * kBlockSize, kBlockSize>(vector)),
   ...);
}

// Reduces and stores the blocks of both vectors. Called by whole warps.
template <typename Score, int kBlockSize>
__device__ __forceinline__ void StoreTileKeys(const BlockAmaxSegment& segment, int32_t row,
                                              int32_t first_vector, int32_t blocks,
                                              const uint4 (&vectors)[kAmaxVectors]) {
  constexpr int kPerVector = kScoresPerVector<Score>;
  const int32_t lane = threadIdx.x & 31;
  if constexpr (kBlockSize <= kPerVector) {
    constexpr int kKeys = kPerVector / kBlockSize;
#pragma unroll
    for (int v = 0; v < kAmaxVectors; ++v) {
      const int32_t block = (first_vector + 32 * v + lane) * kKeys;
      StoreVectorKeys<Score, kBlockSize>(segment, row, block, blocks, vectors[v],
                                         std::make_integer_sequence<int, kKeys>());
    }
  } else {
    // A block spans kLanes lanes. Even lanes finish the first vector's blocks, odd lanes the
    // second's, so that one shuffle serves both.
    constexpr int kLanes = kBlockSize / kPerVector;
    const float first = MaxOf<Score, 0, kPerVector>(vectors[0]);
    const float second = MaxOf<Score, 0, kPerVector>(vectors[1]);
    const bool odd = lane & 1;
    float key = fmaxf(odd ? second : first, __shfl_xor_sync(0xffffffffu, odd ? first : second, 1));
#pragma unroll
    for (int distance = 2; distance < kLanes; distance *= 2) {
      key = fmaxf(key, __shfl_xor_sync(0xffffffffu, key, distance));
    }
    if ((lane & (kLanes - 1)) < 2) {
      const int32_t block = (first_vector + (odd ? 32 : 0) + lane) / kLanes;
      StoreKey(segment, row, block, blocks, key);
    }
  }
}

// Threads: kAmaxThreads. Grid: tiles of each row of each segment of the table.
template <typename Score, int kBlockSize, int kCapacity>
__global__ void __launch_bounds__(kAmaxThreads, 2048 / kAmaxThreads)
    BlockAmaxKernel(const __grid_constant__ WorkTable<BlockAmaxWork, kCapacity> table) {
  ReleaseSuccessor();
  const int32_t index = FindWork(table, blockIdx.x);
  const BlockAmaxWork& work = table.work[index];
  const BlockAmaxSegment& segment = work.segment;
  const int32_t local = static_cast<int32_t>(blockIdx.x) - table.first_block[index];
  const int32_t row = work.tiles_per_row.Divide(local);
  const int32_t tile = local - row * work.tiles_per_row.divisor;
  const Score* scores = static_cast<const Score*>(segment.scores) + row * segment.row_stride;
  const bool aligned = (reinterpret_cast<uintptr_t>(scores) & 15) == 0;
  const int32_t first_vector =
      (tile * (kAmaxThreads / 32) + static_cast<int32_t>(threadIdx.x / 32)) * 32 * kAmaxVectors;
  const int32_t first = first_vector + static_cast<int32_t>(threadIdx.x & 31);

  WaitForPredecessor();
  uint4 vectors[kAmaxVectors];
  int32_t length = __ldg(segment.lengths + row);
  const auto load = [&](int32_t end) {
#pragma unroll
    for (int v = 0; v < kAmaxVectors; ++v) {
      vectors[v] = LoadAmaxVector(scores, first + 32 * v, end, segment.columns, aligned);
    }
  };
  // A small launch does not wait for the length before it asks for scores; a large one must not
  // read columns that the row does not use.
  if (work.load_before_length) load(segment.columns);
  const bool leader = tile == 0 && threadIdx.x == 0;
  length = AmaxWindow<kBlockSize>(work, row, length, leader);
  const int32_t blocks = length == 0 ? 0 : (length - 1) / kBlockSize + 1;
  if (leader) {
    if (segment.block_counts != nullptr) segment.block_counts[row] = blocks;
    if (work.window_lengths != nullptr) work.window_lengths[row] = length;
    if (work.candidate_lengths != nullptr) {
      const int32_t kept = min(blocks, work.kept_blocks);
      work.candidate_lengths[row] =
          kept == 0 ? 0 : kBlockSize * (kept - 1) + (length - 1) % kBlockSize + 1;
    }
  }
  if (blocks <= work.skip_at_most || tile * kAmaxTile<Score> >= length) return;
  if (!work.load_before_length) load(length);
  StoreTileKeys<Score, kBlockSize>(segment, row, first_vector, blocks, vectors);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_BLOCK_AMAX_CUH_
