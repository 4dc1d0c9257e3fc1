// Makes what the server holds of a lease and what its client knows of the same again, after replies
// were lost.

#ifndef WINNOW_CLIENT_SRC_LEASE_SWEEP_H_
#define WINNOW_CLIENT_SRC_LEASE_SWEEP_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "client/src/lease_core.h"
#include "client/src/resource_calls.h"

namespace winnow::client {

// Releases what the lease of `calls` has on the server and `core` does not know, and finds out what
// updates whose replies were lost did. No mutation of the lease is under way.
absl::Status Reconcile(ResourceCalls& calls, LeaseCore& core);

// The same, if it is in doubt and nothing else goes on; `calls_of` makes the calls of the lease.
// What could not be done now stays in doubt.
void Sweep(LeaseCore& core, absl::FunctionRef<ResourceCalls(const LeasePass&)> calls_of);

// Whether a call that ended so may have been carried out all the same, or not, while its lease
// lives on.
bool LeavesDoubt(const absl::Status& status);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_LEASE_SWEEP_H_
