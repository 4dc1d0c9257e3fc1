// One row's part of a page table: checked once, then looked up position by position. Pages may hold
// positions (token slots) or blocks (block slots): a page holds `unit` of whatever is looked up.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_PAGE_LOOKUP_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_PAGE_LOOKUP_CUH_

#include <cstdint>

#include "kernels/cuda/primitives/fault.cuh"
#include "winnow/kernels/segments.h"

namespace winnow::cuda {

// Whether the table can serve `length` (> 0) positions of `row`. When not, `report` decides whether
// this thread records why; every thread gets the same answer.
__device__ __forceinline__ bool CheckPageRow(const PageTransform& pages, int32_t row,
                                             int32_t length, SegmentReport* sink, bool report) {
  if (pages.page_table_rows != nullptr) {
    const int32_t table_row = __ldg(pages.page_table_rows + row);
    if (table_row < 0 || table_row >= pages.table_rows) {
      if (report) {
        ReportFaultInline(sink, FaultKind::kPageTableRowOutOfRange, row, 0, table_row,
                          pages.table_rows);
      }
      return false;
    }
  }
  const int32_t shift = __ffs(pages.page_size) - 1;
  const int64_t needed = ((static_cast<int64_t>(length) - 1) >> shift) + 1;
  if (needed <= pages.table_columns) return true;
  if (report) {
    ReportFaultInline(sink, FaultKind::kPageTableTooNarrow, row, 0, needed, pages.table_columns);
  }
  return false;
}

class PageLookup {
 public:
  // Nothing may be looked up in it.
  PageLookup() = default;
  // `row` passed CheckPageRow. `unit`, a power of two, entries share a page.
  __device__ __forceinline__ PageLookup(const PageTransform& pages, int32_t row, int32_t unit) {
    shift_ = __ffs(unit) - 1;
    const int32_t table_row =
        pages.page_table_rows != nullptr ? __ldg(pages.page_table_rows + row) : row;
    table_ = pages.page_table + table_row * pages.row_stride;
    // Above it a slot would not fit int32.
    limit_ = 0x80000000u >> shift_;
    if (pages.pool_pages > 0) limit_ = min(limit_, static_cast<uint32_t>(pages.pool_pages));
  }

  // Three steps, so that a caller with several entries can have every load in flight before it
  // looks at the first.
  __device__ __forceinline__ int32_t PageId(int32_t entry) const {
    return __ldg(table_ + (entry >> shift_));
  }
  __device__ __forceinline__ bool IsGood(int32_t page_id) const {
    return static_cast<uint32_t>(page_id) < limit_;
  }
  __device__ __forceinline__ int32_t Slot(int32_t page_id, int32_t entry) const {
    return static_cast<int32_t>((static_cast<uint32_t>(page_id) << shift_) |
                                (static_cast<uint32_t>(entry) & ((1u << shift_) - 1)));
  }

  // Looks the page of `entry` up once more and records what is wrong with it, if anything is.
  __device__ __forceinline__ void ReportIfBad(int32_t entry, int32_t row,
                                              SegmentReport* report) const {
    const int32_t page_id = PageId(entry);
    if (IsGood(page_id)) return;
    ReportFaultInline(report, FaultKind::kPageIdOutOfRange, row, entry >> shift_, page_id, limit_);
  }

 private:
  const int32_t* table_ = nullptr;
  int32_t shift_ = 0;
  uint32_t limit_ = 0;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_PAGE_LOOKUP_CUH_
