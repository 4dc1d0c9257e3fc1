#include "server/rpc/request_resources.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// The ledger checked the kind, so that the cast cannot fail.
template <typename T>
absl::StatusOr<std::shared_ptr<T>> FindAs(LeaseLedger& ledger, const std::string& lease_id,
                                          absl::string_view field, const v1::ResourceId& id,
                                          ResourceKind kind) {
  WINNOW_ASSIGN_OR_RETURN(
      std::shared_ptr<Resource> resource,
      ledger.Find(lease_id, {.id = id.id(), .generation = id.generation()}, kind, field));
  return std::static_pointer_cast<T>(std::move(resource));
}

// A resource knows what is wrong with it, the request where it is named.
absl::Status NamedBy(absl::string_view field, const absl::Status& status) {
  std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (!info.has_value()) return status;
  info->field = std::string(field);
  return MakeError(status.code(), absl::StrCat(field, ": ", status.message()), *std::move(info));
}

}  // namespace

absl::StatusOr<std::shared_ptr<RequestResources>> RequestResources::Open(
    LeaseLedger& ledger, absl::string_view lease_id) {
  WINNOW_ASSIGN_OR_RETURN(LeaseUse use, ledger.Use(lease_id));
  return std::shared_ptr<RequestResources>(new RequestResources(ledger, lease_id, std::move(use)));
}

absl::StatusOr<std::shared_ptr<Buffer>> RequestResources::FindBuffer(absl::string_view field,
                                                                     const v1::ResourceId& id) {
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> buffer,
                          FindAs<Buffer>(ledger_, lease_id_, field, id, ResourceKind::kBuffer));
  if (const absl::Status intact = buffer->Intact(); !intact.ok()) return NamedBy(field, intact);
  buffers_.push_back({buffer, id.id()});
  return buffer;
}

absl::StatusOr<std::shared_ptr<PageTable>> RequestResources::FindPageTable(
    absl::string_view field, const v1::ResourceId& id) {
  return FindAs<PageTable>(ledger_, lease_id_, field, id, ResourceKind::kPageTable);
}

absl::StatusOr<std::shared_ptr<Plan>> RequestResources::FindPlan(absl::string_view field,
                                                                 const v1::ResourceId& id) {
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<Plan> plan,
                          FindAs<Plan>(ledger_, lease_id_, field, id, ResourceKind::kPlan));
  Hold(plan);
  return plan;
}

absl::Status RequestResources::ClaimWrite(absl::string_view field, Buffer& buffer,
                                          const StridedRegion& region) {
  if (region.begin == region.end) return absl::OkStatus();
  if (!buffer.write_claims().Claim(this, region)) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat(field, " names bytes that another request in flight writes; ",
                                  "wait for its answer, or give each memory of its own"),
                     {.reason = ErrorReason::kResourceBusy, .field = std::string(field)});
  }
  claimed_.push_back(&buffer);
  return absl::OkStatus();
}

void RequestResources::LetGo() {
  for (Buffer* buffer : claimed_) buffer->write_claims().Release(this);
  claimed_.clear();
  buffers_.clear();
  held_.clear();
  use_.inflight = QuotaHold();
}

absl::Status RequestResources::Intact() const {
  for (const UsedBuffer& used : buffers_) {
    const absl::Status intact = used.buffer->Intact();
    if (intact.ok()) continue;
    ErrorInfo info = GetErrorInfo(intact).value_or(ErrorInfo());
    info.field.clear();
    info.value = absl::StrCat(used.id);
    return MakeError(intact.code(), absl::StrCat("buffer ", used.id, ": ", intact.message()),
                     std::move(info));
  }
  return absl::OkStatus();
}

}  // namespace winnow::server
