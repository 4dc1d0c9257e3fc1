#include "client/src/lease_core.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

int64_t NextLeaseNumber() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

absl::string_view KindName(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::kBuffer:
      return "a buffer";
    case ResourceKind::kPageTable:
      return "a page table";
    case ResourceKind::kPlan:
      break;
  }
  return "a plan";
}

absl::Status Refused(absl::StatusCode code, ErrorReason reason, absl::string_view field,
                     absl::string_view what) {
  return MakeError(code, absl::StrCat(field, " ", what),
                   {.reason = reason, .field = std::string(field)});
}

absl::Status EndedByOwner() {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   "the lease was ended by its owner; open another",
                   {.reason = ErrorReason::kLeaseEnded});
}

}  // namespace

bool LeaseIsGone(const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return info.has_value() &&
         (info->reason == ErrorReason::kLeaseNotFound || info->reason == ErrorReason::kLeaseEnded);
}

LeaseCore::LeaseCore() : number_(NextLeaseNumber()) {}

absl::Status LeaseCore::status() const {
  absl::MutexLock lock(&mu_);
  return IsOpen() ? absl::OkStatus() : NotOpen();
}

absl::Status LeaseCore::NotOpen() const {
  if (state_ == State::kEnded) return why_;
  return absl::UnavailableError(
      absl::StrCat("the lease waits for its server", why_.ok() ? "" : ": ", why_.message()));
}

LeaseQuota LeaseCore::quota() const {
  absl::MutexLock lock(&mu_);
  return grant_.quota;
}

int32_t LeaseCore::device() const {
  absl::MutexLock lock(&mu_);
  return grant_.device;
}

LeasePass LeaseCore::Pass() const {
  return {.lease_id = grant_.lease_id,
          .descriptor_socket_path = grant_.descriptor_socket_path,
          .epoch = epoch_,
          .losses = losses_,
          .server = server_};
}

absl::StatusOr<ResourceRecord*> LeaseCore::FindLocked(const ResourceRef& ref, ResourceKind kind,
                                                      absl::string_view field) const {
  if (!ref.is_set()) {
    return Refused(absl::StatusCode::kInvalidArgument, ErrorReason::kFieldMissing, field,
                   "names no resource; it was released or moved away");
  }
  if (ref.lease != number_) {
    return Refused(absl::StatusCode::kPermissionDenied, ErrorReason::kResourceForeign, field,
                   "belongs to another lease; use the client of the lease that owns it");
  }
  const auto found = records_.find(ref.number);
  if (found == records_.end()) {
    if (ref.number >= 1 && ref.number <= last_number_) {
      return Refused(absl::StatusCode::kFailedPrecondition, ErrorReason::kResourceStale, field,
                     "was released");
    }
    return Refused(absl::StatusCode::kNotFound, ErrorReason::kResourceNotFound, field,
                   "is no resource of the lease");
  }
  ResourceRecord& record = *found->second;
  if (record.kind() != kind) {
    return Refused(absl::StatusCode::kInvalidArgument, ErrorReason::kFieldsConflict, field,
                   absl::StrCat("is ", KindName(record.kind()), ", not ", KindName(kind)));
  }
  WINNOW_RETURN_IF_ERROR(record.broken);
  return &record;
}

absl::StatusOr<std::optional<LeasePass>> LeaseCore::Admit(absl::Span<ResourceUse> uses) {
  absl::MutexLock lock(&mu_);
  if (state_ == State::kEnded) return why_;
  if (!IsOpen()) return std::nullopt;
  for (ResourceUse& use : uses) {
    WINNOW_ASSIGN_OR_RETURN(const ResourceRecord* record, FindLocked(use.ref, use.kind, use.field));
    if (!use.writes && record->lost.Intersects(use.bytes)) {
      return Refused(absl::StatusCode::kDataLoss, ErrorReason::kResourceStale, use.field,
                     "was lost with the server that held it; write it again, or take its zeros "
                     "with AcceptLoss");
    }
    use.id = record->id;
  }
  return Pass();
}

void LeaseCore::Written(const LeasePass& pass, absl::Span<const ResourceUse> uses) {
  absl::MutexLock lock(&mu_);
  if (pass.epoch != epoch_) return;  // it was written to a buffer that is gone
  for (const ResourceUse& use : uses) {
    if (!use.writes) continue;
    const auto found = records_.find(use.ref.number);
    if (found != records_.end()) found->second->lost.Remove(use.bytes);
  }
}

void LeaseCore::Suspect(const LeasePass& pass, bool cancel_stream) {
  std::function<void()> cancel;
  {
    absl::MutexLock lock(&mu_);
    if (pass.epoch != epoch_ || state_ != State::kOpen) return;
    suspected_epoch_ = epoch_;
    if (cancel_stream) cancel = cancel_stream_;
  }
  if (cancel != nullptr) cancel();
}

bool LeaseCore::LostSince(const LeasePass& pass) const {
  absl::MutexLock lock(&mu_);
  return losses_ != pass.losses || state_ == State::kEnded;
}

bool LeaseCore::OtherServerSince(const LeasePass& pass) const {
  absl::MutexLock lock(&mu_);
  return server_ != pass.server;
}

absl::StatusOr<LeasePass> LeaseCore::BeginMutation(absl::Time deadline,
                                                   const std::stop_token& stop) {
  // Taking the lock is what makes the waiter below look again.
  const auto wake = [this] { absl::MutexLock lock(&mu_); };
  const std::stop_callback<decltype(wake)> on_stop(stop, wake);
  absl::MutexLock lock(&mu_);
  const auto may_go_on = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return (IsOpen() && !sweeping_) || state_ == State::kEnded || stop.stop_requested();
  };
  mu_.AwaitWithDeadline(absl::Condition(&may_go_on), deadline);
  if (stop.stop_requested()) return absl::CancelledError("the caller cancelled the call");
  if (!IsOpen()) return NotOpen();
  if (sweeping_)
    return absl::UnavailableError("the lease compares its resources with the server's");
  ++mutations_;
  return Pass();
}

void LeaseCore::EndMutation() {
  absl::MutexLock lock(&mu_);
  --mutations_;
}

void LeaseCore::Doubt() {
  absl::MutexLock lock(&mu_);
  doubted_ = true;
}

std::optional<LeasePass> LeaseCore::BeginSweep() {
  absl::MutexLock lock(&mu_);
  if (!doubted_ || mutations_ > 0 || !IsOpen()) return std::nullopt;
  doubted_ = false;
  sweeping_ = true;
  ++mutations_;
  return Pass();
}

void LeaseCore::EndSweep(bool swept) {
  absl::MutexLock lock(&mu_);
  sweeping_ = false;
  --mutations_;
  if (!swept) doubted_ = true;
}

bool LeaseCore::AwaitLoss(const LeasePass& pass, absl::Duration patience) const {
  absl::MutexLock lock(&mu_);
  const auto lost = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return losses_ != pass.losses || state_ == State::kEnded;
  };
  return mu_.AwaitWithTimeout(absl::Condition(&lost), patience);
}

ResourceRef LeaseCore::Add(std::shared_ptr<ResourceRecord> record) {
  absl::MutexLock lock(&mu_);
  records_.emplace(++last_number_, std::move(record));
  return {.lease = number_, .number = last_number_};
}

absl::StatusOr<std::shared_ptr<ResourceRecord>> LeaseCore::Find(const ResourceRef& ref,
                                                                ResourceKind kind,
                                                                absl::string_view field) const {
  absl::MutexLock lock(&mu_);
  if (state_ == State::kEnded) return why_;
  WINNOW_RETURN_IF_ERROR(FindLocked(ref, kind, field).status());
  return records_.find(ref.number)->second;
}

std::shared_ptr<ResourceRecord> LeaseCore::Remove(const ResourceRef& ref) {
  absl::MutexLock lock(&mu_);
  if (ref.lease != number_) return nullptr;
  const auto found = records_.find(ref.number);
  if (found == records_.end()) return nullptr;
  std::shared_ptr<ResourceRecord> record = std::move(found->second);
  records_.erase(found);
  return record;
}

bool LeaseCore::With(const ResourceRef& ref,
                     const std::function<void(ResourceRecord&)>& change) const {
  absl::MutexLock lock(&mu_);
  if (ref.lease != number_) return false;
  const auto found = records_.find(ref.number);
  if (found == records_.end()) return false;
  change(*found->second);
  return true;
}

void LeaseCore::SetStreamCanceller(std::function<void()> cancel) {
  absl::MutexLock lock(&mu_);
  cancel_stream_ = std::move(cancel);
}

void LeaseCore::Opened(const LeaseGrant& grant, bool other_server) {
  absl::MutexLock lock(&mu_);
  if (state_ == State::kEnded) return;
  if (!grant.resumed) ++epoch_;
  if (other_server) ++server_;
  grant_ = grant;
  state_ = State::kOpen;
  suspected_epoch_ = -1;
  why_ = absl::OkStatus();
}

bool LeaseCore::BeginRecovery(const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  if (state_ == State::kEnded) return false;
  state_ = State::kRecovering;
  why_ = why;
  ++losses_;
  const auto idle = [this]()
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return mutations_ == 0 || closing_; };
  mu_.Await(absl::Condition(&idle));
  return !closing_;
}

void LeaseCore::StillRecovering(const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  if (state_ == State::kRecovering) why_ = why;
}

void LeaseCore::Ended(const absl::Status& why) {
  // Records may hold descriptors: they go without the lock.
  std::map<int64_t, std::shared_ptr<ResourceRecord>> dropped;
  absl::MutexLock lock(&mu_);
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  why_ = why;
  dropped.swap(records_);
}

bool LeaseCore::AwaitClosing(absl::Duration patience) const {
  absl::MutexLock lock(&mu_);
  return mu_.AwaitWithTimeout(absl::Condition(&closing_), patience);
}

std::vector<std::pair<ResourceRef, std::shared_ptr<ResourceRecord>>> LeaseCore::Records() const {
  absl::MutexLock lock(&mu_);
  std::vector<std::pair<ResourceRef, std::shared_ptr<ResourceRecord>>> records;
  for (const auto& [number, record] : records_) {
    records.emplace_back(ResourceRef{.lease = number_, .number = number}, record);
  }
  return records;
}

bool LeaseCore::Close() {
  {
    absl::MutexLock lock(&mu_);
    if (std::exchange(closing_, true)) return false;
  }
  Ended(EndedByOwner());
  return true;
}

}  // namespace winnow::client
