#include "kernels/cpu/row_rules.h"

#include <algorithm>
#include <limits>

namespace winnow::cpu {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

FaultRecord MakeFault(FaultKind kind, int32_t row, int64_t entry, int64_t value, int64_t limit) {
  FaultRecord fault;
  fault.kind = static_cast<int32_t>(kind);
  fault.row = row;
  fault.entry = entry;
  fault.value = value;
  fault.limit = limit;
  return fault;
}

bool IsFault(const FaultRecord& fault) {
  return fault.kind != static_cast<int32_t>(FaultKind::kNone);
}

// The window of a faulting row: empty, so that nothing reads or writes through it.
RowWindow Faulting(FaultRecord fault) {
  RowWindow window;
  window.fault = fault;
  return window;
}

FaultRecord CheckPlanOfRow(const TopKParams& params, const TopKSegment& segment, int32_t row) {
  PlanHeader header;
  std::memcpy(&header, segment.plan, sizeof(header));
  const int64_t pairs[4][2] = {{segment.rows, header.rows},
                               {segment.columns, header.columns},
                               {params.k, header.k},
                               {static_cast<int32_t>(params.dtype), header.dtype}};
  for (int entry = 1; entry <= 4; ++entry) {
    const auto& [now, planned] = pairs[entry - 1];
    if (now != planned) return MakeFault(FaultKind::kPlanStale, row, entry, now, planned);
  }
  const auto* planned = reinterpret_cast<const int32_t*>(segment.plan + sizeof(PlanHeader));
  if (segment.lengths[row] != planned[row]) {
    return MakeFault(FaultKind::kPlanStale, row, 0, segment.lengths[row], planned[row]);
  }
  return {};
}

// Sets window.pages, or the fault. The row has at least one score.
FaultRecord FindPages(const PageTransform& pages, int32_t row, RowWindow* window) {
  int64_t table_row = row;
  if (pages.page_table_rows != nullptr) {
    table_row = pages.page_table_rows[row];
    if (table_row < 0 || table_row >= pages.table_rows) {
      return MakeFault(FaultKind::kPageTableRowOutOfRange, row, 0, table_row, pages.table_rows);
    }
  }
  const int64_t needed = (int64_t{window->length} + pages.page_size - 1) / pages.page_size;
  if (needed > pages.table_columns) {
    return MakeFault(FaultKind::kPageTableTooNarrow, row, 0, needed, pages.table_columns);
  }
  window->pages = pages.page_table + table_row * pages.row_stride;
  return {};
}

RowWindow WindowOfLength(int32_t length, int32_t row, int64_t columns) {
  if (length > columns) {
    return Faulting(MakeFault(FaultKind::kLengthOutOfRange, row, 0, length, columns));
  }
  RowWindow window;
  window.negative = length < 0;
  window.length = std::max(length, 0);
  return window;
}

}  // namespace

RowWindow FindWindow(const TopKParams& params, const TopKSegment& segment, int32_t row) {
  const int32_t length = segment.lengths[row];
  RowWindow window;
  window.negative = length < 0;
  if (segment.plan != nullptr) {
    window.fault = CheckPlanOfRow(params, segment, row);
    if (IsFault(window.fault)) return window;
  }
  if (length <= 0) return window;
  window.start = segment.row_starts == nullptr ? 0 : segment.row_starts[row];
  const int64_t columns = segment.columns;
  if (window.start < 0 || window.start > columns) {
    return Faulting(MakeFault(FaultKind::kRowStartOutOfRange, row, 0, window.start, columns));
  }
  if (window.start + length > columns) {
    return Faulting(
        MakeFault(FaultKind::kLengthOutOfRange, row, 0, window.start + length, columns));
  }
  window.length = length;
  if (segment.slots != nullptr) {
    if (auto fault = FindPages(segment.pages, row, &window); IsFault(fault)) return Faulting(fault);
  }
  if (segment.indices != nullptr && segment.index_offsets != nullptr) {
    window.offset = segment.index_offsets[row];
    const int64_t last = int64_t{window.offset} + length - 1;
    if (last > kInt32Max) {
      return Faulting(MakeFault(FaultKind::kIndexOutOfRange, row, 0, last, kInt32Max));
    }
  }
  return window;
}

RowWindow FindWindow(const BlockAmaxParams& params, const BlockAmaxSegment& segment, int32_t row) {
  RowWindow window = WindowOfLength(segment.lengths[row], row, segment.columns);
  const int64_t blocks = BlockCount(window.length, params.block_size);
  if (blocks > segment.keys_columns) {
    return Faulting(MakeFault(FaultKind::kKeysTooNarrow, row, 0, blocks, segment.keys_columns));
  }
  return window;
}

RowWindow FindWindow(const SortBlocksParams& params, const SortBlocksSegment& segment,
                     int32_t row) {
  RowWindow window = WindowOfLength(segment.lengths[row], row, kMaxColumns);
  if (segment.block_slots != nullptr && window.length > 0) {
    if (auto fault = FindPages(segment.pages, row, &window); IsFault(fault)) return Faulting(fault);
  }
  return window;
}

RowWindow FindWindow(const PublishSegment& segment, int32_t row) {
  RowWindow window = WindowOfLength(segment.lengths[row], row, segment.columns);
  if ((segment.slots != nullptr || segment.block_slots != nullptr) && window.length > 0) {
    if (auto fault = FindPages(segment.pages, row, &window); IsFault(fault)) return Faulting(fault);
  }
  return window;
}

void FaultSink::Record(const FaultRecord& fault) {
  if (closed_ || !IsFault(fault)) return;
  if (IsFault(report_->fault) && report_->fault.row <= fault.row) return;
  report_->fault = fault;
}

SlotMapper::SlotMapper(const PageTransform& pages, int32_t unit) {
  if (pages.page_table == nullptr || unit <= 0) return;
  while ((int32_t{1} << shift_) < unit) ++shift_;
  mask_ = unit - 1;
  // Above it a slot would not fit int32.
  limit_ = (kInt32Max + 1) >> shift_;
  if (pages.pool_pages > 0) limit_ = std::min<int64_t>(limit_, pages.pool_pages);
}

void SlotMapper::Fail(int32_t column, int32_t page, FaultRecord* fault) const {
  *fault = MakeFault(FaultKind::kPageIdOutOfRange, fault->row, column, page, limit_);
}

}  // namespace winnow::cpu
