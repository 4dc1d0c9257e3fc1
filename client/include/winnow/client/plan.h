// A routing plan that the server keeps for calls with the same lengths.

#ifndef WINNOW_CLIENT_PLAN_H_
#define WINNOW_CLIENT_PLAN_H_

#include <utility>

#include "absl/status/status.h"
#include "winnow/client/held_resource.h"
#include "winnow/client/results.h"

namespace winnow::client {

// Owns a plan; Lease::CreatePlan makes one. Move-only; the destructor releases it. A request with
// other lengths than the plan's fails with FailedPrecondition (PLAN_STALE), naming the first row
// that differs: make another plan then. Thread safety: the const methods may be called from several
// threads.
class Plan {
 public:
  Plan() = default;
  explicit Plan(HeldResource resource) : resource_(std::move(resource)) {}

  bool valid() const { return resource_.valid(); }
  // For TopKRequest::plan.
  ResourceRef ref() const { return resource_.ref(); }
  // How rows are routed. Another server may route otherwise: it changes with a recovery then.
  PlanTopKResult summary() const;

  // Releases it now, with the status; see LeaseConnection::Release.
  absl::Status Release(const CallOptions& options = {}) { return resource_.Release(options); }

 private:
  HeldResource resource_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_PLAN_H_
