#include "winnow/client/lease.h"

#include <utility>

#include "winnow/kernels/status_macros.h"

namespace winnow::client {

absl::StatusOr<Lease> Client::OpenLease(const LeaseOptions& lease,
                                        const CallOptions& options) const {
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<LeaseConnection> connection,
                          connection_->OpenLease(lease, options));
  return Lease(std::move(connection));
}

Lease::Lease(std::shared_ptr<LeaseConnection> connection) : connection_(std::move(connection)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  if (connection_ != nullptr) connection_->End();
  connection_ = std::move(other.connection_);
  return *this;
}

Lease::~Lease() {
  if (connection_ != nullptr) connection_->End();
}

absl::StatusOr<Buffer> Lease::AllocateBuffer(int64_t size_bytes, const CallOptions& options) const {
  WINNOW_ASSIGN_OR_RETURN(const ResourceRef ref, connection_->AllocateBuffer(size_bytes, options));
  return Buffer(HeldResource(connection_, ref), size_bytes);
}

absl::StatusOr<SharedBuffer> Lease::ShareMemory(int64_t size_bytes,
                                                const CallOptions& options) const {
  WINNOW_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::Create(size_bytes));
  WINNOW_ASSIGN_OR_RETURN(
      Buffer buffer,
      ImportBuffer({.descriptor = memory.descriptor(), .size_bytes = size_bytes}, options));
  return SharedBuffer(std::move(memory), std::move(buffer));
}

absl::StatusOr<Buffer> Lease::ImportBuffer(const SharedMemoryRange& memory,
                                           const CallOptions& options) const {
  WINNOW_ASSIGN_OR_RETURN(const ResourceRef ref, connection_->ImportBuffer(memory, options));
  return Buffer(HeldResource(connection_, ref), memory.size_bytes);
}

absl::StatusOr<PageTable> Lease::CreatePageTable(const PageTableOptions& table,
                                                 const CallOptions& options) const {
  WINNOW_ASSIGN_OR_RETURN(const ResourceRef ref, connection_->CreatePageTable(table, options));
  return PageTable(HeldResource(connection_, ref), table.rows, table.columns);
}

absl::StatusOr<Plan> Lease::CreatePlan(const PlanTopKRequest& request,
                                       const CallOptions& options) const {
  WINNOW_ASSIGN_OR_RETURN(const ResourceRef ref, connection_->CreatePlan(request, options));
  return Plan(HeldResource(connection_, ref));
}

}  // namespace winnow::client
