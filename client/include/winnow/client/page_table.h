// A page table that the server keeps: a decode step sends the few entries that change.

#ifndef WINNOW_CLIENT_PAGE_TABLE_H_
#define WINNOW_CLIENT_PAGE_TABLE_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "winnow/client/held_resource.h"

namespace winnow::client {

// Owns a page table; Lease::CreatePageTable and Fork make one. Move-only; the destructor releases
// it (work that uses it completes first). The library keeps a copy of the entries, so that the
// table comes back with a lease that recovers.
//
// Thread safety: the const methods may be called from several threads; updates are applied one
// after the other, and an operation sees one version from start to end.
class PageTable {
 public:
  PageTable() = default;
  PageTable(HeldResource resource, int64_t rows, int64_t columns)
      : resource_(std::move(resource)), rows_(rows), columns_(columns) {}

  bool valid() const { return resource_.valid(); }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  ResourceRef ref() const { return resource_.ref(); }
  // From 1, one more with each update; a recovery does not change it. 0 when not valid.
  int64_t version() const;

  // For a request. `row_indices`: int32 [rows, 1], the table row of each score row; absent: the
  // same row.
  PageTableView View(TensorRef row_indices = {}) const {
    PageTableView view;
    view.row_indices = std::move(row_indices);
    view.resource = ref();
    return view;
  }

  // Returns the new version. InvalidArgument: RANGE_OUT_OF_BOUNDS, PAGE_ID_OUT_OF_RANGE, with
  // nothing changed. Safe to use where replies may be lost: an update is never applied twice.
  absl::StatusOr<int64_t> Update(const PageTableUpdate& update,
                                 const CallOptions& options = {}) const;
  // Entries after the last one of `row`.
  absl::StatusOr<int64_t> Append(int64_t row, absl::Span<const int32_t> page_ids,
                                 const CallOptions& options = {}) const;
  // A copy whose row i is row source_rows[i]; all rows when empty. Its version is 1.
  absl::StatusOr<PageTable> Fork(absl::Span<const int64_t> source_rows = {},
                                 const CallOptions& options = {}) const;

  // Releases it now, with the status; see LeaseConnection::Release.
  absl::Status Release(const CallOptions& options = {}) { return resource_.Release(options); }

 private:
  HeldResource resource_;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_PAGE_TABLE_H_
