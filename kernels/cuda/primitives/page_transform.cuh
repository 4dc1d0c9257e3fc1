// Positions of a row to slots of the page pool. The one device type that every route shares: an
// absent table stays null and nothing computes with it; every access is bounded by the table.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_PAGE_TRANSFORM_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_PAGE_TRANSFORM_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/primitives/fault.cuh"
#include "kernels/cuda/primitives/vector_load.cuh"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/segments.h"

namespace winnow::cuda {

// The page ids of one score row.
struct PageRow {
  const int32_t* ids = nullptr;
  int32_t columns = 0;  // ids that may be read; 0 when there is no table
  int32_t page_shift = 0;
  uint32_t id_limit = 0;  // ids are below it; their slots then fit int32
};

// Page row of score row `row`, whose valid positions are [0, length), length > 0. False, with the
// fault reported by the thread that is `reporter`, when the table has no such row or the row has
// more pages than the table has columns.
__device__ __forceinline__ bool OpenPageRow(const PageTransform& transform, int32_t row,
                                            int32_t length, bool reporter, SegmentReport* report,
                                            PageRow& result) {
  const int32_t table_row =
      transform.page_table_rows == nullptr ? row : __ldg(transform.page_table_rows + row);
  if (table_row < 0 || table_row >= transform.table_rows) {
    if (reporter) {
      ReportFault(report, FaultKind::kPageTableRowOutOfRange, row, 0, table_row,
                  transform.table_rows);
    }
    return false;
  }
  result.page_shift = 31 - __clz(transform.page_size);
  const int32_t pages_needed = ((length - 1) >> result.page_shift) + 1;
  if (pages_needed > transform.table_columns) {
    if (reporter) {
      ReportFault(report, FaultKind::kPageTableTooNarrow, row, 0, pages_needed,
                  transform.table_columns);
    }
    return false;
  }
  result.ids = transform.page_table + table_row * transform.row_stride;
  result.columns = transform.table_columns;
  result.id_limit = 0x80000000u >> result.page_shift;
  if (transform.pool_pages > 0) {
    result.id_limit = min(result.id_limit, static_cast<uint32_t>(transform.pool_pages));
  }
  return true;
}

// Asks for the ids of positions [0, length) to be brought into L2: they are needed when the row has
// been selected, and come while it is. One thread calls it.
__device__ __forceinline__ void PrefetchPages(const PageRow& pages, int32_t length) {
  if (pages.columns == 0 || length <= 0) return;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(pages.ids);
  const uintptr_t end = begin + 4 * static_cast<uintptr_t>(((length - 1) >> pages.page_shift) + 1);
  const uintptr_t aligned_begin = (begin + 15) & ~static_cast<uintptr_t>(15);
  const uintptr_t aligned_end = end & ~static_cast<uintptr_t>(15);
  if (aligned_end <= aligned_begin) return;
  PrefetchToL2(reinterpret_cast<const void*>(aligned_begin),
               static_cast<uint32_t>(aligned_end - aligned_begin));
}

// The id of the page that holds `position`, which is in the row: OpenPageRow has seen to it that
// the table has its column.
__device__ __forceinline__ uint32_t PageIdOf(const PageRow& pages, int32_t position) {
  return static_cast<uint32_t>(__ldg(pages.ids + (position >> pages.page_shift)));
}

// Slot of `position` in page `id`, which is below pages.id_limit.
__device__ __forceinline__ int32_t SlotOf(const PageRow& pages, int32_t position, uint32_t id) {
  const uint32_t offset = static_cast<uint32_t>(position) & ((1u << pages.page_shift) - 1u);
  return static_cast<int32_t>(id << pages.page_shift | offset);
}

// Whether a page id of the row is one that has slots.
__device__ __forceinline__ bool IsPageId(const PageRow& pages, uint32_t id) {
#ifdef WINNOW_CUDA_ASSUME_VALID
  return true;
#endif
  return id < pages.id_limit;
}

// Slot of `position` whatever its page id; kPadding, with the fault reported, when the id is
// out of range. A call, and rare: callers look at the largest of several ids first.
template <int32_t kPadding>
__device__ __noinline__ int32_t CheckedSlot(const PageRow& pages, int32_t position, int32_t row,
                                            SegmentReport* report) {
  const uint32_t id = PageIdOf(pages, position);
  if (IsPageId(pages, id)) return SlotOf(pages, position, id);
  ReportFaultInline(report, FaultKind::kPageIdOutOfRange, row, position >> pages.page_shift,
                    static_cast<int32_t>(id), pages.id_limit);
  return kPadding;
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_PAGE_TRANSFORM_CUH_
