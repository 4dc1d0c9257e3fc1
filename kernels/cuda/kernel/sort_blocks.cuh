// Ascending distinct block ids of a row, and their slots. The rank of an id is the number of bits
// below it in a bitmap of the ids present, so that no id is compared with another and no bit is
// walked. One thread block sorts one row.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_SORT_BLOCKS_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_SORT_BLOCKS_CUH_

#include <cstdint>

#include "kernels/cuda/block/block_id_bitmap.cuh"
#include "kernels/cuda/block/sort_blocks_work.h"
#include "kernels/cuda/primitives/dependent_launch.cuh"
#include "kernels/cuda/primitives/fault.cuh"
#include "kernels/cuda/primitives/page_lookup.cuh"
#include "kernels/cuda/primitives/work_lookup.cuh"
#include "kernels/cuda/primitives/work_table.h"
#include "winnow/kernels/limits.h"

namespace winnow::cuda {

// Finding the segment in a table costs registers.
template <int kThreads, int kCapacity>
inline constexpr int kResidentBlocks = kThreads == 1024 ? 1
                                       : kCapacity == 1 ? 4
                                                        : 3;

// Of a row as the host cannot know it.
struct SortWindow {
  int32_t length = 0;  // 0: empty, or at fault
  int32_t blocks = 0;
};

__device__ __forceinline__ SortWindow FindSortWindow(const SortBlocksSegment& segment, int32_t row,
                                                     int32_t block_shift, bool report) {
  const int32_t length = __ldg(segment.lengths + row);
  if (length <= 0) {
    if (length < 0 && report) CountNegativeRow(segment.report);
    return {};
  }
  if (length > kMaxColumns) {
    if (report) {
      ReportFaultInline(segment.report, FaultKind::kLengthOutOfRange, row, 0, length, kMaxColumns);
    }
    return {};
  }
  if (segment.block_slots != nullptr &&
      !CheckPageRow(segment.pages, row, length, segment.report, report)) {
    return {};
  }
  return {.length = length, .blocks = ((length - 1) >> block_shift) + 1};
}

// Writes columns [0, width) of the row's outputs: the first `kept` from `sorted(column)`, padding
// after. Each thread writes kIdsPerThread columns, all of whose page lookups are in flight at once:
// after the sort neighbours look up the same page, or pages side by side.
template <int kThreads, int kIdsPerThread, typename Sorted>
__device__ __forceinline__ void StoreSortedRow(const SortBlocksSegment& segment, int32_t row,
                                               int32_t width, int32_t block_shift, int32_t kept,
                                               Sorted sorted) {
  const int32_t first = static_cast<int32_t>(threadIdx.x);
  int32_t ids[kIdsPerThread];
  int32_t* out = segment.out_blocks + row * segment.out_blocks_row_stride;
#pragma unroll
  for (int i = 0; i < kIdsPerThread; ++i) {
    const int32_t column = first + kThreads * i;
    ids[i] = column < kept ? sorted(column) : kPaddingBlock;
    if (column < width) out[column] = ids[i];
  }
  if (segment.block_slots == nullptr) return;
  int32_t* slots = segment.block_slots + row * segment.block_slots_row_stride;
  // A row that keeps nothing may have no pages.
  const PageLookup pages =
      kept == 0 ? PageLookup()
                : PageLookup(segment.pages, row, segment.pages.page_size >> block_shift);
  int32_t page_ids[kIdsPerThread];
#pragma unroll
  for (int i = 0; i < kIdsPerThread; ++i) {
    page_ids[i] = first + kThreads * i < kept ? pages.PageId(ids[i]) : 0;
  }
  bool fault = false;
#pragma unroll
  for (int i = 0; i < kIdsPerThread; ++i) {
    const int32_t column = first + kThreads * i;
    const bool good = column < kept && pages.IsGood(page_ids[i]);
    fault = fault || (column < kept && !good);
    if (column < width) slots[column] = good ? pages.Slot(page_ids[i], ids[i]) : kPaddingBlock;
  }
  if (!fault) return;
#pragma unroll 1
  for (int32_t column = first; column < kept; column += kThreads) {
    pages.ReportIfBad(out[column], row, segment.report);
  }
}

// Turns this thread's bad ids into -1, and reports one of them.
template <int kThreads, int kIdsPerThread>
__device__ __forceinline__ void CheckIds(const SortBlocksSegment& segment, int32_t row,
                                         int32_t blocks, int32_t (&ids)[kIdsPerThread]) {
  int32_t bad_column = -1;
  int32_t bad_id = -1;
#pragma unroll
  for (int i = 0; i < kIdsPerThread; ++i) {
    if (static_cast<uint32_t>(ids[i]) < static_cast<uint32_t>(blocks)) continue;
    if (ids[i] != -1) {
      bad_column = static_cast<int32_t>(threadIdx.x) + kThreads * i;
      bad_id = ids[i];
    }
    ids[i] = -1;
  }
  if (bad_column < 0) return;
  ReportFaultInline(segment.report, FaultKind::kBlockIdOutOfRange, row, bad_column, bad_id, blocks);
}

// One pass of the bitmap: ids [base, base + kIds) of `ids` go to `list` in ascending order; returns
// how many. kWhole: every id that is not -1 is in the pass, and base is 0. The bitmap is clear, and
// a barrier lies behind. Ends without a barrier.
template <bool kWhole, int kThreads, int kWords, int kIdsPerThread>
__device__ __forceinline__ int32_t
SortPass(typename BlockIdBitmap<kThreads, kWords>::Storage& storage,
         const int32_t (&ids)[kIdsPerThread], int32_t base, int32_t* list) {
  using Bitmap = BlockIdBitmap<kThreads, kWords>;
  Bitmap bitmap(storage);
  const auto in_pass = [&](int32_t id) {
    if constexpr (kWhole) return id >= 0;
    return id >= base && id - base < Bitmap::kIds;
  };
#pragma unroll
  for (int i = 0; i < kIdsPerThread; ++i) {
    if (in_pass(ids[i])) bitmap.Insert(ids[i] - base);
  }
  __syncthreads();
  const int32_t members = static_cast<int32_t>(bitmap.Scan());
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kIdsPerThread; ++i) {
    // Duplicates share a rank and write the same value.
    if (in_pass(ids[i])) list[bitmap.Rank(ids[i] - base)] = ids[i];
  }
  return members;
}

// Puts the distinct ids in ascending order into `list`; returns how many there are to every thread.
// Ends with a barrier. A pass of the bitmap covers kIds ids; only rows of more blocks need several.
template <int kThreads, int kWords, int kIdsPerThread>
__device__ __forceinline__ int32_t
SortIds(typename BlockIdBitmap<kThreads, kWords>::Storage& storage,
        const int32_t (&ids)[kIdsPerThread], int32_t blocks, int32_t* list) {
  using Bitmap = BlockIdBitmap<kThreads, kWords>;
  int32_t kept = 0;
  if (blocks <= Bitmap::kIds) {
    kept = SortPass<true, kThreads, kWords>(storage, ids, 0, list);
  } else {
#pragma unroll 1
    for (int32_t base = 0; base < blocks; base += Bitmap::kIds) {
      kept += SortPass<false, kThreads, kWords>(storage, ids, base, list + kept);
      __syncthreads();  // the ranks are read
      Bitmap(storage).Clear();
      __syncthreads();
    }
  }
  __syncthreads();
  return kept;
}

// Threads: kThreads. Grid: one block a row of each segment of the table.
template <int kThreads, int kWords, int kCapacity>
__global__ void __launch_bounds__(kThreads, kResidentBlocks<kThreads, kCapacity>)
    SortBlocksKernel(const __grid_constant__ WorkTable<SortBlocksWork, kCapacity> table,
                     int32_t width, int32_t block_shift, bool release_early) {
  constexpr int kIdsPerThread = kMaxK / kThreads;
  using Bitmap = BlockIdBitmap<kThreads, kWords>;
  __shared__ typename Bitmap::Storage storage;
  __shared__ int32_t list[kMaxK];

  if (release_early) ReleaseSuccessor();
  Bitmap(storage).Clear();
  WaitForPredecessor();
  const int32_t index = FindWork(table, blockIdx.x);
  const SortBlocksSegment& segment = table.work[index].segment;
  const int32_t row = static_cast<int32_t>(blockIdx.x) - table.first_block[index];
  const int32_t* blocks = segment.blocks + row * segment.blocks_row_stride;
  int32_t ids[kIdsPerThread];
#pragma unroll
  for (int i = 0; i < kIdsPerThread; ++i) {
    const int32_t column = static_cast<int32_t>(threadIdx.x) + kThreads * i;
    ids[i] = column < width ? blocks[column] : -1;  // an ordinary load: the row may be in place
  }
  const bool leader = threadIdx.x == 0;
  const SortWindow window = FindSortWindow(segment, row, block_shift, leader);

  int32_t kept = window.blocks;
  if (window.blocks <= width) {
    __syncthreads();  // in place: every id is read before one is written
    StoreSortedRow<kThreads, kIdsPerThread>(segment, row, width, block_shift, kept,
                                            [](int32_t column) { return column; });
  } else {
    CheckIds<kThreads>(segment, row, window.blocks, ids);
    __syncthreads();
    kept = SortIds<kThreads, kWords>(storage, ids, window.blocks, list);
    StoreSortedRow<kThreads, kIdsPerThread>(segment, row, width, block_shift, kept,
                                            [&](int32_t column) { return list[column]; });
  }
  if (leader && segment.candidate_lengths != nullptr) {
    const int32_t block_size = 1 << block_shift;
    segment.candidate_lengths[row] =
        kept == 0 ? 0 : block_size * (kept - 1) + ((window.length - 1) & (block_size - 1)) + 1;
  }
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_SORT_BLOCKS_CUH_
