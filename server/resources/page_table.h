// A page table with versions: a reader holds one version from start to end of its request; an
// update makes the next.
//
// Updates are small and tables large, so versions are not copies: the table owns kImages device
// images. An update takes an image that no reader holds, brings it up to date with what it missed,
// applies the change and makes it current.

#ifndef WINNOW_SERVER_RESOURCES_PAGE_TABLE_H_
#define WINNOW_SERVER_RESOURCES_PAGE_TABLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "server/backend/backend.h"
#include "server/resources/page_table_update.h"
#include "server/resources/resource.h"

namespace winnow::server {

// Device image of a table. Constant while a reader holds it.
struct PageTableImage {
  std::unique_ptr<DeviceMemory> memory;  // int32 [rows, columns], contiguous
  int64_t version = 0;                   // 0: never written

  const int32_t* data() const { return reinterpret_cast<const int32_t*>(memory->data()); }
};

// Thread safety: safe to call from several threads.
class PageTable final : public Resource, public std::enable_shared_from_this<PageTable> {
 public:
  // One current, and two that readers of earlier versions may hold at once.
  static constexpr int kImages = 3;

  // Bytes of device memory of a table, all images together.
  static absl::StatusOr<int64_t> BytesFor(const PageTableShape& shape);

  // `initial` is empty (all entries -1) or rows * columns ids. `backend` outlives the table.
  // InvalidArgument names field, value and limit; ResourceExhausted when the pool has no room.
  static absl::StatusOr<std::shared_ptr<PageTable>> Create(Backend* backend,
                                                           const PageTableShape& shape,
                                                           absl::Span<const int32_t> initial);

  ResourceKind kind() const override { return ResourceKind::kPageTable; }
  int64_t size_bytes() const override;
  int64_t version() const override;
  const PageTableShape& shape() const { return shape_; }

  // The current version. Hold it as long as the device may read it; it keeps the table's memory,
  // too.
  std::shared_ptr<const PageTableImage> Current() const;

  // Applied whole or not at all; returns the new version. InvalidArgument (RANGE_OUT_OF_BOUNDS,
  // PAGE_ID_OUT_OF_RANGE), FailedPrecondition (RESOURCE_STALE) for another version than expected,
  // ResourceExhausted (RESOURCE_BUSY, with a time after which to try again) while running requests
  // hold kImages - 1 earlier versions.
  absl::StatusOr<int64_t> Update(const PageTableUpdate& update);

  // A new table whose row i is row source_rows[i] of this one; all rows when empty.
  absl::StatusOr<std::shared_ptr<PageTable>> Fork(absl::Span<const int64_t> source_rows) const;
  // Shape that Fork would give, for reserving its bytes.
  PageTableShape ForkedShape(absl::Span<const int64_t> source_rows) const;

 private:
  // Columns [begin, end) of a row changed.
  struct Change {
    int64_t row = 0;
    int64_t begin = 0;
    int64_t end = 0;
  };
  struct Undo {
    Change change;
    std::vector<int32_t> ids;  // before the change
    int64_t filled = 0;
  };
  struct LoggedUpdate {
    int64_t version = 0;
    std::vector<Change> changes;
  };
  struct Image : PageTableImage {
    int readers = 0;
  };

  PageTable(Backend* backend, const PageTableShape& shape);

  std::vector<Change> ApplyToHost(const PageTableUpdate& update, std::vector<Undo>& undo)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<Image*> FreeImage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes the device image equal to `host_`, which is at `version_`.
  absl::Status BringUpToDate(Image& image) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CopyRange(Image& image, const Change& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TrimLog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Unread(const Image* image);

  Backend* const backend_;
  const PageTableShape shape_;

  mutable absl::Mutex mu_;
  int64_t version_ ABSL_GUARDED_BY(mu_) = 1;
  std::vector<int32_t> host_ ABSL_GUARDED_BY(mu_);    // the current version
  std::vector<int64_t> filled_ ABSL_GUARDED_BY(mu_);  // per row: one past the last entry ever set
  std::vector<std::unique_ptr<Image>> images_ ABSL_GUARDED_BY(mu_);
  Image* current_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::vector<LoggedUpdate> log_
      ABSL_GUARDED_BY(mu_);  // ascending; what older images may have missed
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_PAGE_TABLE_H_
