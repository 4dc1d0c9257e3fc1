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
        ReportFault(sink, FaultKind::kPageTableRowOutOfRange, row, 0, table_row, pages.table_rows);
      }
      return false;
    }
  }
  const int32_t shift = __ffs(pages.page_size) - 1;
  const int64_t needed = ((static_cast<int64_t>(length) - 1) >> shift) + 1;
  if (needed <= pages.table_columns) return true;
  if (report) {
    ReportFault(sink, FaultKind::kPageTableTooNarrow, row, 0, needed, pages.table_columns);
  }
  return false;
}

class PageLookup {
 public:
  // `row` passed CheckPageRow. `unit`, a power of two, entries share a page.
  __device__ __forceinline__ PageLookup(const PageTransform& pages, int32_t row, int32_t unit) {
    shift_ = __ffs(unit) - 1;
    const int32_t table_row =
        pages.page_table_rows != nullptr ? __ldg(pages.page_table_rows + row) : row;
    table_ = pages.page_table + table_row * pages.row_stride;
    // Above it a slot would not fit int32.
    const int64_t addressable = (int64_t{1} << 31) >> shift_;
    limit_ =
        pages.pool_pages > 0 && pages.pool_pages < addressable ? pages.pool_pages : addressable;
  }

  // The slot of `entry`, or -1 with the fault recorded when its page id is out of range.
  __device__ __forceinline__ int32_t Slot(int32_t entry, int32_t row, SegmentReport* sink) const {
    const int32_t column = entry >> shift_;
    const int32_t page = __ldg(table_ + column);
    if (page < 0 || page >= limit_) {
      ReportFault(sink, FaultKind::kPageIdOutOfRange, row, column, page, limit_);
      return -1;
    }
    return static_cast<int32_t>((static_cast<uint32_t>(page) << shift_) |
                                (static_cast<uint32_t>(entry) & ((1u << shift_) - 1)));
  }

 private:
  const int32_t* table_ = nullptr;
  int32_t shift_ = 0;
  int64_t limit_ = 0;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_PAGE_LOOKUP_CUH_
