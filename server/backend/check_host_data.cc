#include "server/backend/check_host_data.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "server/backend/work_shape.h"
#include "winnow/kernels/limits.h"

namespace winnow::server {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

bool IsFault(const FaultRecord& fault) { return fault.kind != 0; }

FaultRecord MakeFault(FaultKind kind, int64_t row, int64_t entry, int64_t value, int64_t limit) {
  FaultRecord fault;
  fault.kind = static_cast<int32_t>(kind);
  fault.row = static_cast<int32_t>(row);
  fault.entry = entry;
  fault.value = value;
  fault.limit = limit;
  return fault;
}

// An int32 matrix in host memory of any alignment.
class HostMatrix {
 public:
  explicit HostMatrix(const TensorRef& tensor)
      : data_(tensor.source == TensorRef::Source::kHost ? tensor.data : nullptr),
        row_stride_(RowStride(tensor)) {}

  bool visible() const { return data_ != nullptr; }
  // The stride of a single row means nothing and may be any number: its bytes need not fit.
  const std::byte* RowAt(int64_t row) const {
    return row == 0 ? data_ : data_ + row * row_stride_ * 4;
  }
  int32_t At(int64_t row, int64_t column = 0) const { return Load(RowAt(row), column); }

  static int32_t Load(const std::byte* row, int64_t column) {
    int32_t value;
    std::memcpy(&value, row + column * 4, sizeof(value));
    return value;
  }

 private:
  const std::byte* data_;
  int64_t row_stride_;
};

// The page table of a step as the host sees it.
class HostPages {
 public:
  // `unit` is the positions (blocks) of a page. Without `wanted` nothing is looked at.
  HostPages(const PageTableRef& pages, int64_t unit, bool wanted)
      : table_(pages.table), rows_(pages.rows), pages_(pages), unit_(unit), wanted_(wanted) {
    if (!wanted) return;
    limit_ = (kInt32Max + 1) / unit;
    if (pages.pool_pages > 0) limit_ = std::min<int64_t>(limit_, pages.pool_pages);
  }

  // The row-level faults of a row that uses `used` positions (blocks) of its pages.
  FaultRecord CheckRow(int64_t row, int64_t used, int64_t capacity_unit) const {
    if (!wanted_) return {};
    if (rows_.visible()) {
      const int32_t table_row = rows_.At(row);
      if (table_row < 0 || table_row >= pages_.table.rows) {
        return MakeFault(FaultKind::kPageTableRowOutOfRange, row, 0, table_row, pages_.table.rows);
      }
    }
    const int64_t needed = (used + capacity_unit - 1) / capacity_unit;
    if (needed > pages_.table.columns) {
      return MakeFault(FaultKind::kPageTableTooNarrow, row, 0, needed, pages_.table.columns);
    }
    return {};
  }

  // The first bad id among the first `count` pages of a row that passed CheckRow.
  FaultRecord CheckIds(int64_t row, int64_t count) const {
    const std::byte* ids = IdsOf(row);
    if (ids == nullptr) return {};
    // Negative ids are large when unsigned, so one maximum covers both bounds.
    uint32_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      largest = std::max(largest, static_cast<uint32_t>(HostMatrix::Load(ids, i)));
    }
    if (largest < limit_) return {};
    for (int64_t i = 0; i < count; ++i) {
      if (FaultRecord fault = CheckId(row, ids, i); IsFault(fault)) return fault;
    }
    return {};
  }

  FaultRecord CheckIdOf(int64_t row, int64_t block) const {
    const std::byte* ids = IdsOf(row);
    return ids == nullptr ? FaultRecord{} : CheckId(row, ids, block / unit_);
  }

 private:
  // Null when the host cannot see them.
  const std::byte* IdsOf(int64_t row) const {
    if (!wanted_ || !table_.visible()) return nullptr;
    if (!pages_.rows.present()) return table_.RowAt(row);
    return rows_.visible() ? table_.RowAt(rows_.At(row)) : nullptr;
  }

  FaultRecord CheckId(int64_t row, const std::byte* ids, int64_t column) const {
    const int32_t id = HostMatrix::Load(ids, column);
    if (id >= 0 && id < limit_) return {};
    return MakeFault(FaultKind::kPageIdOutOfRange, row, column, id, limit_);
  }

  HostMatrix table_, rows_;
  const PageTableRef& pages_;
  int64_t unit_;
  bool wanted_;
  int64_t limit_ = 0;
};

int64_t Blocks(int64_t length, int64_t block_size) {
  return (length + block_size - 1) / block_size;
}

// Runs `check(row, length)` on each row that is not empty, until one faults.
template <typename Check>
FaultRecord CheckRows(const TensorRef& lengths_ref, Check check) {
  const HostMatrix lengths(lengths_ref);
  // Whether a row is empty, and so has nothing that can be wrong, is for its length to say.
  if (!lengths.visible()) return {};
  for (int64_t row = 0; row < lengths_ref.rows; ++row) {
    const int32_t length = lengths.At(row);
    if (length <= 0) continue;
    if (FaultRecord fault = check(row, length); IsFault(fault)) return fault;
  }
  return {};
}

FaultRecord CheckLength(int64_t row, int64_t end, int64_t columns) {
  if (end <= columns) return {};
  return MakeFault(FaultKind::kLengthOutOfRange, row, 0, end, columns);
}

// Bad ids of a row of candidate blocks that does not keep all of its blocks.
FaultRecord CheckBlockIds(const SortBlocksStep& step, const HostMatrix& blocks,
                          const HostPages& pages, int64_t row, int64_t block_count) {
  if (!blocks.visible()) return {};
  for (int32_t i = 0; i < step.params.width; ++i) {
    const int32_t id = blocks.At(row, i);
    if (id == -1) continue;
    if (id < -1 || id >= block_count) {
      return MakeFault(FaultKind::kBlockIdOutOfRange, row, i, id, block_count);
    }
    if (FaultRecord fault = pages.CheckIdOf(row, id); IsFault(fault)) return fault;
  }
  return {};
}

}  // namespace

FaultRecord FindHostFault(const TopKStep& step) {
  const HostMatrix starts(step.row_starts);
  const HostMatrix offsets(step.index_offsets);
  const HostPages pages(step.pages, step.pages.page_size, step.slots.wanted());
  const int64_t columns = step.scores.columns;
  return CheckRows(step.lengths, [&](int64_t row, int64_t length) -> FaultRecord {
    const int64_t start = starts.visible() ? starts.At(row) : 0;
    if (start < 0 || start > columns) {
      return MakeFault(FaultKind::kRowStartOutOfRange, row, 0, start, columns);
    }
    // A start that only the device sees may be wrong itself, and that would count first.
    if (starts.visible() || !step.row_starts.present()) {
      if (FaultRecord fault = CheckLength(row, start + length, columns); IsFault(fault))
        return fault;
    }
    // A longer row than the columns is the device's to report; it must not be walked here.
    const int64_t used = std::min(length, columns);
    const int64_t unit = step.pages.page_size;
    if (FaultRecord fault = pages.CheckRow(row, used, unit); IsFault(fault)) return fault;
    if (step.indices.wanted() && offsets.visible()) {
      const int64_t last = int64_t{offsets.At(row)} + length - 1;
      if (last > kInt32Max) return MakeFault(FaultKind::kIndexOutOfRange, row, 0, last, kInt32Max);
    }
    return step.slots.wanted() ? pages.CheckIds(row, Blocks(used, unit)) : FaultRecord{};
  });
}

FaultRecord FindHostFault(const BlockAmaxStep& step) {
  return CheckRows(step.lengths, [&](int64_t row, int64_t length) -> FaultRecord {
    if (FaultRecord fault = CheckLength(row, length, step.scores.columns); IsFault(fault)) {
      return fault;
    }
    const int64_t blocks = Blocks(length, step.params.block_size);
    if (blocks <= step.key_columns) return {};
    return MakeFault(FaultKind::kKeysTooNarrow, row, 0, blocks, step.key_columns);
  });
}

FaultRecord FindHostFault(const SortBlocksStep& step) {
  const HostMatrix blocks(step.blocks);
  const bool wants_slots = step.block_slots.wanted();
  const int64_t unit = wants_slots ? step.pages.page_size / step.params.block_size : 1;
  const HostPages pages(step.pages, unit, wants_slots);
  return CheckRows(step.lengths, [&](int64_t row, int64_t length) -> FaultRecord {
    if (FaultRecord fault = CheckLength(row, length, kMaxColumns); IsFault(fault)) return fault;
    if (FaultRecord fault = pages.CheckRow(row, length, step.pages.page_size); IsFault(fault)) {
      return fault;
    }
    const int64_t block_count = Blocks(length, step.params.block_size);
    if (block_count <= step.params.width) {
      return wants_slots ? pages.CheckIds(row, Blocks(block_count, unit)) : FaultRecord{};
    }
    return CheckBlockIds(step, blocks, pages, row, block_count);
  });
}

FaultRecord FindHostFault(const PublishStep& step) {
  const bool wants_slots = step.slots.wanted() || step.block_slots.wanted();
  // Block slots stay below token slots, so the limit of whichever is wanted counts.
  const int64_t unit = step.slots.wanted() || !wants_slots
                           ? step.pages.page_size
                           : step.pages.page_size / step.params.block_size;
  const HostPages pages(step.pages, std::max<int64_t>(unit, 1), wants_slots);
  return CheckRows(step.lengths, [&](int64_t row, int64_t length) -> FaultRecord {
    if (FaultRecord fault = CheckLength(row, length, step.scores.columns); IsFault(fault)) {
      return fault;
    }
    if (!wants_slots) return {};
    if (FaultRecord fault = pages.CheckRow(row, length, step.pages.page_size); IsFault(fault)) {
      return fault;
    }
    return pages.CheckIds(row, Blocks(length, step.pages.page_size));
  });
}

}  // namespace winnow::server
