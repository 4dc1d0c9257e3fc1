// A lease: what a client keeps with the server lives as long as it.
//
//   absl::StatusOr<Lease> lease = client.OpenLease({.display_name = "my-engine"});
//   absl::StatusOr<SharedBuffer> scores = lease->ShareMemory(rows * columns * sizeof(float));
//   absl::StatusOr<PageTable> pages = lease->CreatePageTable({.rows = rows, .columns = 64,
//                                                             .page_size = 64});
//   ... write scores->elements<float>(), pages->Append(row, ids) ...
//   auto result = lease->client().TopK({
//       .scores = scores->AsMatrix(DType::kFloat32, rows, columns),
//       .lengths = Int32Column(lengths), .k = 512, .page_table = pages->View(),
//       .slots = Placement::kInline});
//
// Next: buffer.h, shared_memory.h, page_table.h and plan.h for the resources.

#ifndef WINNOW_CLIENT_LEASE_H_
#define WINNOW_CLIENT_LEASE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "winnow/client/buffer.h"
#include "winnow/client/client.h"
#include "winnow/client/lease_connection.h"
#include "winnow/client/lease_options.h"
#include "winnow/client/page_table.h"
#include "winnow/client/plan.h"
#include "winnow/client/shared_memory.h"

namespace winnow::client {

// Owns a lease; Client::OpenLease makes one. Move-only. A moved-from lease may be destroyed and
// assigned to; anything else aborts.
//
// The end. Close and the destructor end the lease: the server drops its queued work, lets its
// running work finish and frees everything it owns, at once and whatever the grace. Resources and
// clients that outlive the lease may be used and destroyed in any order: their calls fail with
// FailedPrecondition (LEASE_ENDED). The destructor may run on any thread, also in a callback; it
// takes two seconds at most, a few when a recovery is under way. A server that cannot be told in
// that time ends the lease by itself, when it misses the connection or when the grace is over.
//
// Recovery. The library watches the lease's stream on a thread of its own. When the stream is lost
// it resumes the lease within its grace, or opens another and makes its resources anew there:
// page tables with their contents and versions, plans, and shared memory, which is the caller's.
// What cannot come back is the content of buffers that the server owned: a range of them that was
// lost cannot be read, by Read or by an operation, until it is written again; calls that try fail
// with DataLoss (IsContentsLost, error.h). Calls made meanwhile wait until the lease is open again,
// within their timeout; those under way are repeated where that is safe (client/README.md has the
// table). The references of resources stay as they are. LeaseOptions::on_event tells what happens.
//
// Thread safety: all methods may be called from several threads, the destructor by one alone.
class Lease {
 public:
  // For tests and wrappers. `connection` is not null.
  explicit Lease(std::shared_ptr<LeaseConnection> connection);
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  // Ends the lease and says whether its server knows. Ok: it has ended there, and memory that no
  // running request uses is free. Otherwise it has ended on this side all the same and the server
  // follows as after a destructor: Unavailable, DeadlineExceeded, Cancelled. InvalidArgument names
  // the option at fault; the lease lives on then. Again: Ok, without a call.
  absl::Status Close(const CallOptions& options = {}) const { return connection_->Close(options); }

  // A client whose operations may use the lease's resources and count as its requests. Cheap.
  Client client() const { return Client(connection_->operations()); }

  // Memory of the server, zeroed. ResourceExhausted: QUOTA_EXCEEDED, MEMORY_EXHAUSTED.
  absl::StatusOr<Buffer> AllocateBuffer(int64_t size_bytes, const CallOptions& options = {}) const;
  // Memory of this process that the server maps too, zeroed: what is written to it needs no copy
  // through the connection. Needs a server on a Unix socket. FailedPrecondition (PERMISSION_DENIED)
  // when the server's descriptor socket is not in a place that only this user may write, or is
  // another server's; Unimplemented (NOT_IN_BUILD) when the server cannot map memory of this host.
  absl::StatusOr<SharedBuffer> ShareMemory(int64_t size_bytes,
                                           const CallOptions& options = {}) const;
  // The same for memory that the caller has: see SharedMemoryRange.
  absl::StatusOr<Buffer> ImportBuffer(const SharedMemoryRange& memory,
                                      const CallOptions& options = {}) const;

  // InvalidArgument names the field at fault: SHAPE_OUT_OF_RANGE, PAGE_SIZE_INVALID,
  // PAGE_ID_OUT_OF_RANGE.
  absl::StatusOr<PageTable> CreatePageTable(const PageTableOptions& table,
                                            const CallOptions& options = {}) const;
  // A routing plan as a resource. `request.lengths` is the caller's memory, for the plan is made
  // anew from it after a recovery; InvalidArgument otherwise.
  absl::StatusOr<Plan> CreatePlan(const PlanTopKRequest& request,
                                  const CallOptions& options = {}) const;

  // What the lease may hold.
  LeaseQuota quota() const { return connection_->quota(); }
  // Ordinal of the device that it lives on, among ServerInfo::devices.
  int32_t device() const { return connection_->device(); }
  // Ok while it is open; Unavailable while it waits for its server; FailedPrecondition
  // (LEASE_ENDED) when it is over for good.
  absl::Status status() const { return connection_->status(); }

 private:
  // Shared with the resources, so that they may outlive the lease.
  std::shared_ptr<LeaseConnection> connection_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_LEASE_H_
