#include "client/src/page_table_mirror.h"

#include <algorithm>
#include <cstring>

namespace winnow::client {
namespace {

void WriteAt(std::vector<int32_t>& row, int64_t column, const std::vector<int32_t>& ids) {
  const size_t end = static_cast<size_t>(column) + ids.size();
  if (row.size() < end) row.resize(end, -1);
  std::copy(ids.begin(), ids.end(), row.begin() + column);
}

}  // namespace

PageTableMirror::PageTableMirror(const PageTableOptions& table)
    : columns_(table.columns),
      page_size_(table.page_size),
      pool_pages_(table.pool_pages),
      entries_(static_cast<size_t>(table.rows)) {}

void PageTableMirror::SetInitial(const MatrixView& initial) {
  const int64_t stride = initial.row_stride == 0 ? initial.columns : initial.row_stride;
  const char* data = static_cast<const char*>(initial.data);
  for (int64_t row = 0; row < initial.rows; ++row) {
    std::vector<int32_t>& entries = entries_[row];
    entries.resize(initial.columns);
    std::memcpy(entries.data(), data + row * stride * sizeof(int32_t),
                initial.columns * sizeof(int32_t));
    while (!entries.empty() && entries.back() < 0) entries.pop_back();
    entries.shrink_to_fit();
  }
}

void PageTableMirror::Apply(const PageTableUpdate& update) {
  for (const int64_t row : update.clear_rows) entries_[row].clear();
  for (const PageTableEdit& edit : update.ranges) {
    WriteAt(entries_[edit.row], edit.column, edit.page_ids);
  }
  for (const PageTableEdit& edit : update.appends) {
    std::vector<int32_t>& row = entries_[edit.row];
    row.insert(row.end(), edit.page_ids.begin(), edit.page_ids.end());
  }
}

PageTableMirror PageTableMirror::Fork(absl::Span<const int64_t> source_rows) const {
  PageTableMirror fork = *this;
  fork.base_version_ = 0;
  fork.server_version_ = 1;
  fork.pending_.reset();
  if (source_rows.empty()) return fork;
  fork.entries_.clear();
  for (const int64_t row : source_rows) fork.entries_.push_back(entries_[row]);
  return fork;
}

void PageTableMirror::ResolvePending(int64_t server_version) {
  const std::shared_ptr<Pending> pending = std::move(pending_);
  if (pending == nullptr || server_version != server_version_ + 1) return;
  Apply(pending->update);
  server_version_ = server_version;
  pending->applied_version = version();
}

void PageTableMirror::Rebase(int64_t server_version) {
  pending_.reset();
  base_version_ = version() - server_version;
  server_version_ = server_version;
}

}  // namespace winnow::client
