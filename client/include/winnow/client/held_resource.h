// The part that Buffer, PageTable and Plan have in common: a resource that is released once.

#ifndef WINNOW_CLIENT_HELD_RESOURCE_H_
#define WINNOW_CLIENT_HELD_RESOURCE_H_

#include <memory>

#include "absl/status/status.h"
#include "winnow/client/lease_connection.h"

namespace winnow::client {

// Move-only; the destructor releases the resource, and does nothing for one whose lease has ended.
// It takes one round trip at most and never more than two seconds; a release that the server
// cannot be told now is made good when the lease is open again. Thread safety: as a standard
// container.
class HeldResource {
 public:
  HeldResource() = default;
  HeldResource(std::shared_ptr<LeaseConnection> lease, ResourceRef ref);
  HeldResource(HeldResource&& other) noexcept;
  HeldResource& operator=(HeldResource&& other) noexcept;
  ~HeldResource();

  bool valid() const { return lease_ != nullptr; }
  ResourceRef ref() const { return ref_; }
  // InvalidArgument (FIELD_MISSING) when not valid.
  absl::Status Check() const;
  // Not null when valid.
  const std::shared_ptr<LeaseConnection>& lease() const { return lease_; }

  absl::Status Release(const CallOptions& options);

 private:
  std::shared_ptr<LeaseConnection> lease_;  // shared with the Lease and its other resources
  ResourceRef ref_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_HELD_RESOURCE_H_
