// HeldResource, and the resources over it: each method asks the lease's connection.

#include "winnow/client/held_resource.h"

#include <utility>

#include "winnow/client/buffer.h"
#include "winnow/client/page_table.h"
#include "winnow/client/plan.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

// A destructor must end. What the server was not told in time, it is told, or has forgotten, later.
constexpr absl::Duration kReleaseTimeout = absl::Seconds(2);

}  // namespace

HeldResource::HeldResource(std::shared_ptr<LeaseConnection> lease, ResourceRef ref)
    : lease_(std::move(lease)), ref_(ref) {}

HeldResource::HeldResource(HeldResource&& other) noexcept
    : lease_(std::move(other.lease_)), ref_(std::exchange(other.ref_, {})) {}

HeldResource& HeldResource::operator=(HeldResource&& other) noexcept {
  if (this == &other) return *this;
  HeldResource released(std::move(*this));
  lease_ = std::move(other.lease_);
  ref_ = std::exchange(other.ref_, {});
  return *this;
}

HeldResource::~HeldResource() {
  // What went wrong is the lease's to make good; see LeaseConnection::Release.
  Release({.timeout = kReleaseTimeout, .retry = RetryPolicy::Never()}).IgnoreError();
}

absl::Status HeldResource::Check() const {
  if (valid()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   "the resource was released or moved away; make another",
                   {.reason = ErrorReason::kFieldMissing});
}

absl::Status HeldResource::Release(const CallOptions& options) {
  const std::shared_ptr<LeaseConnection> lease = std::exchange(lease_, nullptr);
  const ResourceRef ref = std::exchange(ref_, {});
  return lease == nullptr ? absl::OkStatus() : lease->Release(ref, options);
}

absl::Status Buffer::Write(int64_t offset_bytes, absl::Span<const std::byte> bytes,
                           const CallOptions& options) const {
  WINNOW_RETURN_IF_ERROR(resource_.Check());
  return resource_.lease()->WriteBuffer(ref(), offset_bytes, bytes, options);
}

absl::Status Buffer::Read(int64_t offset_bytes, absl::Span<std::byte> bytes,
                          const CallOptions& options) const {
  WINNOW_RETURN_IF_ERROR(resource_.Check());
  return resource_.lease()->ReadBuffer(ref(), offset_bytes, bytes, options);
}

bool Buffer::contents_lost() const { return valid() && resource_.lease()->ContentsLost(ref()); }

void Buffer::AcceptLoss() const {
  if (valid()) resource_.lease()->AcceptLoss(ref());
}

int64_t PageTable::version() const {
  return valid() ? resource_.lease()->PageTableVersion(ref()) : 0;
}

absl::StatusOr<int64_t> PageTable::Update(const PageTableUpdate& update,
                                          const CallOptions& options) const {
  WINNOW_RETURN_IF_ERROR(resource_.Check());
  return resource_.lease()->UpdatePageTable(ref(), update, options);
}

absl::StatusOr<int64_t> PageTable::Append(int64_t row, absl::Span<const int32_t> page_ids,
                                          const CallOptions& options) const {
  PageTableUpdate update;
  update.appends.push_back({.row = row, .page_ids = {page_ids.begin(), page_ids.end()}});
  return Update(update, options);
}

absl::StatusOr<PageTable> PageTable::Fork(absl::Span<const int64_t> source_rows,
                                          const CallOptions& options) const {
  WINNOW_RETURN_IF_ERROR(resource_.Check());
  WINNOW_ASSIGN_OR_RETURN(const ResourceRef fork,
                          resource_.lease()->ForkPageTable(ref(), source_rows, options));
  const int64_t rows = source_rows.empty() ? rows_ : static_cast<int64_t>(source_rows.size());
  return PageTable(HeldResource(resource_.lease(), fork), rows, columns_);
}

PlanTopKResult Plan::summary() const {
  return valid() ? resource_.lease()->PlanSummary(ref()) : PlanTopKResult{};
}

}  // namespace winnow::client
