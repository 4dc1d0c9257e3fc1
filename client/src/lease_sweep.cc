#include "client/src/lease_sweep.h"

#include <algorithm>
#include <optional>

#include "winnow/client/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

ResourceKind FromProto(v1::ResourceKind kind) {
  switch (kind) {
    case v1::RESOURCE_KIND_PAGE_TABLE:
      return ResourceKind::kPageTable;
    case v1::RESOURCE_KIND_PLAN:
      return ResourceKind::kPlan;
    default:
      return ResourceKind::kBuffer;
  }
}

}  // namespace

absl::Status Reconcile(ResourceCalls& calls, LeaseCore& core) {
  WINNOW_ASSIGN_OR_RETURN(const v1::ListResourcesResponse listed, calls.List());
  const auto records = core.Records();
  for (const v1::ResourceDescription& there : listed.resources()) {
    const ServerResourceId id = FromProto(there.resource());
    const auto known = std::find_if(records.begin(), records.end(),
                                    [&](const auto& entry) { return entry.second->id == id; });
    if (known == records.end()) {
      WINNOW_RETURN_IF_ERROR(calls.Release(FromProto(there.kind()), id));
      continue;
    }
    core.With(known->first, [&](ResourceRecord& record) {
      auto* table = std::get_if<PageTableMirror>(&record.source);
      if (table != nullptr) table->ResolvePending(there.version());
    });
  }
  return absl::OkStatus();
}

void Sweep(LeaseCore& core, absl::FunctionRef<ResourceCalls(const LeasePass&)> calls_of) {
  const std::optional<LeasePass> pass = core.BeginSweep();
  if (!pass.has_value()) return;
  ResourceCalls calls = calls_of(*pass);
  const absl::Status status = Reconcile(calls, core);
  // A lease that is gone took everything with it.
  core.EndSweep(/*swept=*/status.ok() || LeaseIsGone(status));
}

bool LeavesDoubt(const absl::Status& status) {
  return IsUnreachable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

}  // namespace winnow::client
