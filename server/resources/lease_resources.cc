// The part of the ledger that knows resources: slots, generations and what an id may name.

#include "absl/strings/str_cat.h"
#include "server/resources/lease_ledger.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

bool Matches(ResourceKind wanted, ResourceKind actual) {
  return wanted == actual ||
         (wanted == ResourceKind::kBuffer && actual == ResourceKind::kImportedBuffer);
}

absl::Status IdError(absl::StatusCode code, ErrorReason reason, absl::string_view field,
                     ResourceId id, absl::string_view what) {
  return MakeError(code,
                   absl::StrCat(field, " is ", id.id, ", generation ", id.generation, "; ", what),
                   {.reason = reason, .field = std::string(field), .value = absl::StrCat(id.id)});
}

}  // namespace

absl::string_view Name(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::kBuffer:
    case ResourceKind::kImportedBuffer:
      return "buffer";
    case ResourceKind::kPageTable:
      return "page table";
    case ResourceKind::kPlan:
      return "plan";
  }
  return "resource";
}

absl::StatusOr<std::vector<QuotaHold>> LeaseLedger::Reserve(absl::string_view lease_id,
                                                            int64_t bytes) {
  std::array<std::shared_ptr<Quota>, 4> quotas;
  {
    absl::MutexLock lock(&mu_);
    WINNOW_ASSIGN_OR_RETURN(Lease * lease, FindLease(lease_id));
    // The lease's own bounds first: their error is the one its client can act on.
    quotas = QuotasOf(*lease);
  }
  std::vector<QuotaHold> holds;
  for (size_t index = 0; index < quotas.size(); ++index) {
    WINNOW_ASSIGN_OR_RETURN(QuotaHold hold, quotas[index]->Take(index % 2 == 0 ? bytes : 1));
    holds.push_back(std::move(hold));
  }
  return holds;
}

absl::StatusOr<ResourceId> LeaseLedger::Add(absl::string_view lease_id,
                                            std::shared_ptr<Resource> resource,
                                            std::vector<QuotaHold> holds) {
  resource->Hold(std::move(holds));
  absl::MutexLock lock(&mu_);
  WINNOW_ASSIGN_OR_RETURN(const int64_t number, NumberOf(lease_id));
  int64_t index = 0;
  if (free_slots_.empty()) {
    index = static_cast<int64_t>(slots_.size());
    slots_.push_back({.generation = first_generation_});
  } else {
    index = free_slots_.back();
    free_slots_.pop_back();
  }
  Slot& slot = slots_[index];
  slot.lease_number = number;
  slot.created = next_created_++;
  slot.resource = std::move(resource);
  return ResourceId{.id = index + 1, .generation = slot.generation};
}

absl::StatusOr<std::shared_ptr<Resource>> LeaseLedger::Find(absl::string_view lease_id,
                                                            ResourceId id, ResourceKind kind,
                                                            absl::string_view field) const {
  absl::MutexLock lock(&mu_);
  WINNOW_ASSIGN_OR_RETURN(const Slot* slot, FindSlot(lease_id, id, kind, field));
  return slot->resource;
}

absl::Status LeaseLedger::Release(absl::string_view lease_id, ResourceId id, ResourceKind kind,
                                  absl::string_view field) {
  std::shared_ptr<Resource> dropped;  // destroyed without the lock
  absl::MutexLock lock(&mu_);
  WINNOW_RETURN_IF_ERROR(FindSlot(lease_id, id, kind, field).status());
  Slot& slot = slots_[id.id - 1];
  dropped = std::move(slot.resource);
  slot = {.generation = slot.generation + 1};
  free_slots_.push_back(id.id - 1);
  return absl::OkStatus();
}

absl::StatusOr<const LeaseLedger::Slot*> LeaseLedger::FindSlot(absl::string_view lease_id,
                                                               ResourceId id, ResourceKind kind,
                                                               absl::string_view field) const {
  WINNOW_ASSIGN_OR_RETURN(const int64_t number, NumberOf(lease_id));
  if (id.id < 1 || id.id > static_cast<int64_t>(slots_.size()) ||
      id.generation < first_generation_ || id.generation > slots_[id.id - 1].generation) {
    return IdError(absl::StatusCode::kNotFound, ErrorReason::kResourceNotFound, field, id,
                   absl::StrCat("this server never gave a ", Name(kind), " that id"));
  }
  const Slot& slot = slots_[id.id - 1];
  if (id.generation != slot.generation || slot.lease_number == 0) {
    return IdError(absl::StatusCode::kFailedPrecondition, ErrorReason::kResourceStale, field, id,
                   absl::StrCat("that ", Name(kind), " was released"));
  }
  if (slot.lease_number != number) {
    return IdError(absl::StatusCode::kPermissionDenied, ErrorReason::kResourceForeign, field, id,
                   absl::StrCat("that ", Name(kind), " belongs to another lease"));
  }
  if (!Matches(kind, slot.resource->kind())) {
    return IdError(
        absl::StatusCode::kInvalidArgument, ErrorReason::kFieldsConflict, field, id,
        absl::StrCat("a ", Name(kind), " is wanted and that is a ", Name(slot.resource->kind())));
  }
  return &slot;
}

absl::StatusOr<std::vector<ResourceSummary>> LeaseLedger::Resources(
    absl::string_view lease_id) const {
  absl::MutexLock lock(&mu_);
  WINNOW_ASSIGN_OR_RETURN(const int64_t number, NumberOf(lease_id));
  std::map<int64_t, ResourceSummary> by_creation;
  for (size_t index = 0; index < slots_.size(); ++index) {
    const Slot& slot = slots_[index];
    if (slot.lease_number != number) continue;
    by_creation[slot.created] = {
        .id = {.id = static_cast<int64_t>(index) + 1, .generation = slot.generation},
        .kind = slot.resource->kind(),
        .size_bytes = slot.resource->size_bytes(),
        .version = slot.resource->version()};
  }
  std::vector<ResourceSummary> list;
  for (const auto& [created, summary] : by_creation) list.push_back(summary);
  return list;
}

}  // namespace winnow::server
