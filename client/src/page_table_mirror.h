// The client's copy of a page table: what an update does to it here is what it does to the
// server's.

#ifndef WINNOW_CLIENT_SRC_PAGE_TABLE_MIRROR_H_
#define WINNOW_CLIENT_SRC_PAGE_TABLE_MIRROR_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "winnow/client/lease_connection.h"

namespace winnow::client {

// Holds the entries up to the last that was ever set in each row, so that an empty table costs
// little. Thread safety: as a standard container.
class PageTableMirror {
 public:
  // The shape of `table`, empty. The server has accepted it.
  explicit PageTableMirror(const PageTableOptions& table);
  // `initial` of `table` as the server takes it: trailing -1 of a row are no entries.
  void SetInitial(const MatrixView& initial);

  // Its shape, without content.
  PageTableOptions options() const {
    return {
        .rows = rows(), .columns = columns_, .page_size = page_size_, .pool_pages = pool_pages_};
  }
  int64_t rows() const { return static_cast<int64_t>(entries_.size()); }
  const std::vector<int32_t>& row(int64_t row) const { return entries_[row]; }

  // The server has accepted it.
  void Apply(const PageTableUpdate& update);
  PageTableMirror Fork(absl::Span<const int64_t> source_rows) const;

  // The caller's version goes on when the server's starts again.
  int64_t version() const { return base_version_ + server_version_; }
  int64_t server_version() const { return server_version_; }
  void SetServerVersion(int64_t version) { server_version_ = version; }
  // A new table of a server has the content of this one, at `server_version`.
  void Rebase(int64_t server_version);

  // An update whose reply is outstanding, or was lost. Shared with the call that waits for it.
  struct Pending {
    PageTableUpdate update;
    int64_t applied_version = 0;  // the caller's; 0: it was not applied
  };
  void SetPending(std::shared_ptr<Pending> pending) { pending_ = std::move(pending); }
  bool has_pending() const { return pending_ != nullptr; }
  // The server's table is at `server_version`: takes the pending update over, or drops it.
  void ResolvePending(int64_t server_version);

 private:
  int64_t columns_;
  int32_t page_size_;
  int32_t pool_pages_;
  int64_t base_version_ = 0;
  int64_t server_version_ = 1;
  std::shared_ptr<Pending> pending_;
  std::vector<std::vector<int32_t>> entries_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_PAGE_TABLE_MIRROR_H_
