// What a Lease and its resources talk to: the server, or a test double (mock_lease_connection.h).
// Programs use a Lease; they see this header only to inject a double.

#ifndef WINNOW_CLIENT_LEASE_CONNECTION_H_
#define WINNOW_CLIENT_LEASE_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "winnow/client/connection.h"
#include "winnow/client/lease_options.h"
#include "winnow/client/options.h"
#include "winnow/client/requests.h"
#include "winnow/client/results.h"
#include "winnow/client/tensor.h"

namespace winnow::client {

// A new page table. Its content is `initial`, or every row is empty.
struct PageTableOptions {
  int64_t rows = 0;        // 1 to 65,536
  int64_t columns = 0;     // pages in a row, 1 to 2,097,152
  int32_t page_size = 0;   // positions in a page; a power of two, 1 to kMaxPageSize
  int32_t pool_pages = 0;  // ids must be below it; 0: not declared
  MatrixView initial;  // int32 [rows, columns]; trailing -1 of a row are no entries. 0 rows: none
};

// Entries written to one row. A range writes from `column` on, an append after the last entry that
// was ever set; `column` is then not read.
struct PageTableEdit {
  int64_t row = 0;
  int64_t column = 0;
  std::vector<int32_t> page_ids;  // at least -1 (no page) and below the pool's size
};

// Applied whole or not at all, in this order; a reader sees the whole update or none of it.
struct PageTableUpdate {
  std::vector<int64_t> clear_rows;  // emptied first
  std::vector<PageTableEdit> ranges;
  std::vector<PageTableEdit> appends;
};

// Shared memory of the caller: a descriptor of shm_open or memfd_create, and the part of it that
// the server is to see.
struct SharedMemoryRange {
  int descriptor = -1;       // duplicated; the caller's may be closed afterwards
  int64_t offset_bytes = 0;  // a multiple of the page size
  int64_t size_bytes = 0;    // at least 1
  bool read_only = false;    // the server may only read it; it can be no output then
};

// One lease. The methods behave as those of Lease, Buffer, PageTable and Plan that are called the
// same. Thread safety: all methods may be called from several threads.
class LeaseConnection {
 public:
  virtual ~LeaseConnection() = default;

  // Ends the lease; later calls fail with LEASE_ENDED.
  virtual absl::Status Close(const CallOptions& options) = 0;
  // The same as far as it can be done soon. Called by Lease's destructor, once, also after Close.
  virtual void End() = 0;

  virtual std::shared_ptr<Connection> operations() = 0;
  virtual LeaseQuota quota() const = 0;
  virtual int32_t device() const = 0;
  virtual absl::Status status() const = 0;

  virtual absl::StatusOr<ResourceRef> AllocateBuffer(int64_t size_bytes,
                                                     const CallOptions& options) = 0;
  virtual absl::StatusOr<ResourceRef> ImportBuffer(const SharedMemoryRange& memory,
                                                   const CallOptions& options) = 0;
  virtual absl::Status WriteBuffer(const ResourceRef& buffer, int64_t offset_bytes,
                                   absl::Span<const std::byte> bytes,
                                   const CallOptions& options) = 0;
  virtual absl::Status ReadBuffer(const ResourceRef& buffer, int64_t offset_bytes,
                                  absl::Span<std::byte> bytes, const CallOptions& options) = 0;
  virtual bool ContentsLost(const ResourceRef& buffer) const = 0;
  virtual void AcceptLoss(const ResourceRef& buffer) = 0;

  virtual absl::StatusOr<ResourceRef> CreatePageTable(const PageTableOptions& table,
                                                      const CallOptions& options) = 0;
  virtual absl::StatusOr<int64_t> UpdatePageTable(const ResourceRef& table,
                                                  const PageTableUpdate& update,
                                                  const CallOptions& options) = 0;
  virtual absl::StatusOr<ResourceRef> ForkPageTable(const ResourceRef& table,
                                                    absl::Span<const int64_t> source_rows,
                                                    const CallOptions& options) = 0;
  virtual int64_t PageTableVersion(const ResourceRef& table) const = 0;

  virtual absl::StatusOr<ResourceRef> CreatePlan(const PlanTopKRequest& request,
                                                 const CallOptions& options) = 0;
  virtual PlanTopKResult PlanSummary(const ResourceRef& plan) const = 0;

  // Of any kind. Ok also when the server cannot be told now: it is told, or gone, when the lease
  // is open again. Where it did not answer in time, it is told with the next call that makes,
  // changes or releases something.
  virtual absl::Status Release(const ResourceRef& resource, const CallOptions& options) = 0;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_LEASE_CONNECTION_H_
