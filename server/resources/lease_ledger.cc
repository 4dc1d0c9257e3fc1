#include "server/resources/lease_ledger.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/resources/random_id.h"
#include "winnow/kernels/count_text.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr int64_t kMaxDisplayNameBytes = 128;
constexpr int32_t kMaxWeight = 100;
// Ids of ended leases that are answered with LEASE_ENDED rather than LEASE_NOT_FOUND.
constexpr size_t kRememberedEndedLeases = 4096;

absl::Status LeaseNotFound(absl::string_view field) {
  return MakeError(absl::StatusCode::kNotFound,
                   absl::StrCat(field, " names no lease of this server; open a lease first"),
                   {.reason = ErrorReason::kLeaseNotFound, .field = std::string(field)});
}

absl::Status LeaseHasEnded(absl::string_view field) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   absl::StrCat("the lease of ", field,
                                " has ended; open a new one and register its resources again"),
                   {.reason = ErrorReason::kLeaseEnded, .field = std::string(field)});
}

absl::Status CheckOptions(const LeaseOptions& options, absl::Duration max_resume_grace) {
  const bool printable = std::all_of(options.display_name.begin(), options.display_name.end(),
                                     [](unsigned char c) { return absl::ascii_isprint(c); });
  if (!printable || static_cast<int64_t>(options.display_name.size()) > kMaxDisplayNameBytes) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat("display_name has ", options.display_name.size(),
                                  " bytes; this server accepts up to ", kMaxDisplayNameBytes,
                                  " of printable ascii"),
                     {.reason = ErrorReason::kValueOutOfRange,
                      .field = "display_name",
                      .value = absl::StrCat(options.display_name.size()),
                      .limit = absl::StrCat(kMaxDisplayNameBytes)});
  }
  if (options.weight < 1 || options.weight > kMaxWeight) {
    return InvalidField(ErrorReason::kValueOutOfRange, "weight", options.weight,
                        absl::StrCat("1 to ", kMaxWeight));
  }
  if (options.resume_grace < absl::ZeroDuration() || options.resume_grace > max_resume_grace) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        absl::StrCat("resume_grace_duration is ", absl::FormatDuration(options.resume_grace),
                     "; this server accepts 0 to ", absl::FormatDuration(max_resume_grace)),
        {.reason = ErrorReason::kValueOutOfRange,
         .field = "resume_grace_duration",
         .value = absl::FormatDuration(options.resume_grace),
         .limit = absl::StrCat("0 to ", absl::FormatDuration(max_resume_grace))});
  }
  return absl::OkStatus();
}

}  // namespace

struct LeaseLedger::Lease {
  std::string id;
  int64_t number = 0;
  int64_t stream = 0;
  LeaseOptions options;
  LeaseState state = LeaseState::kOpen;
  int32_t device_place = 0;
  absl::Time opened;
  absl::Time grace_end = absl::InfiniteFuture();
  std::shared_ptr<Quota> bytes;
  std::shared_ptr<Quota> resources;
  std::shared_ptr<Quota> inflight;
};

LeaseLedger::LeaseLedger(LeaseLedgerOptions options, Clock* clock, Ended ended)
    : options_(std::move(options)),
      clock_(clock),
      server_resources_(Quota::Create("resources of the server", options_.max_server_resources)),
      ended_(std::move(ended)),
      first_generation_(RandomGeneration()) {
  for (const LeaseDevice& device : options_.devices) {
    device_bytes_.push_back(
        Quota::Create(absl::StrCat("bytes of device ", device.number), device.max_bytes));
  }
}

LeaseLedger::~LeaseLedger() = default;

absl::StatusOr<LeaseGrant> LeaseLedger::Open(const LeaseOptions& options,
                                             absl::Span<const int64_t> requests_in_flight) {
  WINNOW_RETURN_IF_ERROR(CheckOptions(options, options_.max_resume_grace));
  std::optional<int32_t> named_place;
  if (options.device.has_value()) {
    WINNOW_ASSIGN_OR_RETURN(named_place, FindDevice(options_.devices, *options.device));
  }
  auto lease = std::make_unique<Lease>();
  lease->id = RandomHexId();
  lease->options = options;
  lease->opened = clock_->Now();
  lease->bytes = Quota::Create("bytes of the lease", options_.max_lease_bytes);
  lease->resources = Quota::Create("resources of the lease", options_.max_lease_resources);
  lease->inflight = Quota::Create("requests in flight of the lease", options_.max_lease_inflight);

  absl::MutexLock lock(&mu_);
  if (closed_) {
    return MakeError(absl::StatusCode::kUnavailable,
                     "the server is draining; open the lease with another one",
                     {.reason = ErrorReason::kServerDraining});
  }
  if (static_cast<int64_t>(leases_.size()) >= options_.max_leases) {
    return MakeError(
        absl::StatusCode::kResourceExhausted,
        absl::StrCat("the server has ", CountText(static_cast<int64_t>(leases_.size()), "lease"),
                     " of at most ", options_.max_leases, "; end one first"),
        {.reason = ErrorReason::kQuotaExceeded,
         .value = absl::StrCat(leases_.size()),
         .limit = absl::StrCat(options_.max_leases, ", the leases of the server")});
  }
  lease->device_place = named_place.has_value() ? *named_place : ChooseDevice(requests_in_flight);
  lease->number = next_number_++;
  lease->stream = next_stream_++;
  LeaseGrant grant{.lease_id = lease->id,
                   .number = lease->number,
                   .stream = lease->stream,
                   .device = options_.devices[lease->device_place].number};
  by_id_[lease->id] = lease.get();
  leases_[lease->number] = std::move(lease);
  return grant;
}

absl::StatusOr<LeaseGrant> LeaseLedger::Resume(absl::string_view lease_id, absl::string_view peer) {
  constexpr char kField[] = "resume_lease_id";
  absl::MutexLock lock(&mu_);
  WINNOW_ASSIGN_OR_RETURN(Lease * lease, FindLease(lease_id, kField));
  if (lease->state != LeaseState::kWaiting) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "another stream holds the lease of resume_lease_id; close it first",
                     {.reason = ErrorReason::kResourceBusy, .field = kField});
  }
  // The grace is over even when nobody has come to end the lease yet.
  if (clock_->Now() >= lease->grace_end) return LeaseHasEnded(kField);
  lease->state = LeaseState::kOpen;
  lease->stream = next_stream_++;
  lease->grace_end = absl::InfiniteFuture();
  lease->options.peer = std::string(peer);
  return LeaseGrant{.lease_id = lease->id,
                    .number = lease->number,
                    .stream = lease->stream,
                    .resumed = true,
                    .device = options_.devices[lease->device_place].number};
}

void LeaseLedger::StreamLost(const LeaseGrant& grant) {
  std::vector<std::shared_ptr<Resource>> dropped;
  LeaseEnding ending;
  {
    absl::MutexLock lock(&mu_);
    const auto found = leases_.find(grant.number);
    if (found == leases_.end()) return;
    Lease& lease = *found->second;
    if (lease.stream != grant.stream || lease.state != LeaseState::kOpen) return;
    if (lease.options.resume_grace > absl::ZeroDuration() && !closed_) {
      lease.state = LeaseState::kWaiting;
      lease.grace_end = clock_->Now() + lease.options.resume_grace;
      return;
    }
    ending = BeginEnd(lease, LeaseEndCause::kNotTold, "its stream ended", dropped);
  }
  CallEnded(ending);
}

absl::Status LeaseLedger::End(int64_t number, absl::string_view message) {
  std::vector<std::shared_ptr<Resource>> dropped;
  LeaseEnding ending;
  {
    absl::MutexLock lock(&mu_);
    const auto found = leases_.find(number);
    if (found == leases_.end() || found->second->state == LeaseState::kEnding) {
      return MakeError(absl::StatusCode::kNotFound,
                       absl::StrCat("lease_number is ", number, "; no open lease has it"),
                       {.reason = ErrorReason::kLeaseNotFound,
                        .field = "lease_number",
                        .value = absl::StrCat(number)});
    }
    ending = BeginEnd(*found->second, LeaseEndCause::kOperator, message, dropped);
  }
  CallEnded(ending);
  return absl::OkStatus();
}

absl::Status LeaseLedger::CloseLease(absl::string_view lease_id) {
  std::vector<std::shared_ptr<Resource>> dropped;
  LeaseEnding ending;
  {
    absl::MutexLock lock(&mu_);
    WINNOW_ASSIGN_OR_RETURN(Lease * lease, FindLease(lease_id));
    ending = BeginEnd(*lease, LeaseEndCause::kClosed, "it was closed by its id", dropped);
  }
  CallEnded(ending);
  return absl::OkStatus();
}

absl::Time LeaseLedger::ExpireGraces() {
  std::vector<std::shared_ptr<Resource>> dropped;
  std::vector<LeaseEnding> endings;
  absl::Time next = absl::InfiniteFuture();
  {
    absl::MutexLock lock(&mu_);
    const absl::Time now = clock_->Now();
    for (auto& [number, lease] : leases_) {
      if (lease->state != LeaseState::kWaiting) continue;
      if (lease->grace_end <= now) {
        endings.push_back(BeginEnd(*lease, LeaseEndCause::kNotTold, "its grace is over", dropped));
      } else {
        next = std::min(next, lease->grace_end);
      }
    }
  }
  for (const LeaseEnding& ending : endings) CallEnded(ending);
  return next;
}

void LeaseLedger::Close(absl::string_view message) {
  std::vector<std::shared_ptr<Resource>> dropped;
  std::vector<LeaseEnding> endings;
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    for (auto& [number, lease] : leases_) {
      if (lease->state == LeaseState::kEnding) continue;
      endings.push_back(BeginEnd(*lease, LeaseEndCause::kDrain, message, dropped));
    }
  }
  for (const LeaseEnding& ending : endings) CallEnded(ending);
}

bool LeaseLedger::IsHeld(const LeaseGrant& grant) const {
  absl::MutexLock lock(&mu_);
  const auto found = leases_.find(grant.number);
  return found != leases_.end() && found->second->state == LeaseState::kOpen &&
         found->second->stream == grant.stream;
}

absl::StatusOr<LeaseUse> LeaseLedger::Use(absl::string_view lease_id) {
  absl::MutexLock lock(&mu_);
  WINNOW_ASSIGN_OR_RETURN(Lease * lease, FindLease(lease_id));
  WINNOW_ASSIGN_OR_RETURN(QuotaHold inflight, lease->inflight->Take(1));
  return LeaseUse{.number = lease->number,
                  .weight = lease->options.weight,
                  .device_place = lease->device_place,
                  .inflight = std::move(inflight)};
}

absl::StatusOr<int32_t> LeaseLedger::DevicePlaceOf(absl::string_view lease_id) const {
  absl::MutexLock lock(&mu_);
  WINNOW_ASSIGN_OR_RETURN(Lease * lease, FindLease(lease_id));
  return lease->device_place;
}

int64_t LeaseLedger::used_bytes() const {
  int64_t used = 0;
  for (const auto& bytes : device_bytes_) used += bytes->used();
  return used;
}

std::vector<DeviceLoad> LeaseLedger::DeviceLoads() const {
  absl::MutexLock lock(&mu_);
  return Loads();
}

std::vector<DeviceLoad> LeaseLedger::Loads() const {
  std::vector<DeviceLoad> loads;
  for (const auto& bytes : device_bytes_) loads.push_back({.reserved_bytes = bytes->used()});
  for (const auto& [number, lease] : leases_) ++loads[lease->device_place].leases;
  return loads;
}

int32_t LeaseLedger::ChooseDevice(absl::Span<const int64_t> requests_in_flight) const {
  if (device_bytes_.size() == 1) return 0;
  std::vector<DeviceLoad> loads = Loads();
  for (size_t place = 0; place < requests_in_flight.size(); ++place) {
    loads[place].requests_in_flight = requests_in_flight[place];
  }
  return LeastLoaded(loads);
}

std::vector<LeaseSummary> LeaseLedger::List() const {
  absl::MutexLock lock(&mu_);
  std::map<int64_t, LeaseSummary> summaries;
  for (const auto& [number, lease] : leases_) {
    summaries[number] = {.number = number,
                         .options = lease->options,
                         .state = lease->state,
                         .device = options_.devices[lease->device_place].number,
                         .age = clock_->Now() - lease->opened,
                         .used_bytes = lease->bytes->used(),
                         .inflight = lease->inflight->used()};
  }
  for (const Slot& slot : slots_) {
    const auto summary = summaries.find(slot.lease_number);
    if (summary == summaries.end()) continue;
    switch (slot.resource->kind()) {
      case ResourceKind::kBuffer:
      case ResourceKind::kImportedBuffer:
        ++summary->second.buffers;
        break;
      case ResourceKind::kPageTable:
        ++summary->second.page_tables;
        break;
      case ResourceKind::kPlan:
        ++summary->second.plans;
        break;
    }
  }
  std::vector<LeaseSummary> list;
  for (auto& [number, summary] : summaries) list.push_back(std::move(summary));
  return list;
}

absl::StatusOr<LeaseLedger::Lease*> LeaseLedger::FindLease(absl::string_view lease_id,
                                                           absl::string_view field) const {
  const auto found = by_id_.find(lease_id);
  if (found != by_id_.end()) return found->second;
  if (ended_lookup_.contains(lease_id)) return LeaseHasEnded(field);
  return LeaseNotFound(field);
}

absl::StatusOr<int64_t> LeaseLedger::NumberOf(absl::string_view lease_id) const {
  WINNOW_ASSIGN_OR_RETURN(Lease * lease, FindLease(lease_id));
  return lease->number;
}

std::array<std::shared_ptr<Quota>, 4> LeaseLedger::QuotasOf(const Lease& lease) const {
  return {lease.bytes, lease.resources, device_bytes_[lease.device_place], server_resources_};
}

LeaseEnding LeaseLedger::BeginEnd(Lease& lease, LeaseEndCause cause, absl::string_view message,
                                  std::vector<std::shared_ptr<Resource>>& dropped) {
  lease.state = LeaseState::kEnding;
  by_id_.erase(lease.id);
  RememberEnded(lease.id);
  for (size_t index = 0; index < slots_.size(); ++index) {
    Slot& slot = slots_[index];
    if (slot.lease_number != lease.number) continue;
    dropped.push_back(std::move(slot.resource));
    slot = {.generation = slot.generation + 1};
    free_slots_.push_back(static_cast<int64_t>(index));
  }
  return {.number = lease.number,
          .device_place = lease.device_place,
          .cause = cause,
          .message = message};
}

void LeaseLedger::RememberEnded(const std::string& lease_id) {
  ended_ids_.push_back(lease_id);
  ended_lookup_.insert(lease_id);
  if (ended_ids_.size() > kRememberedEndedLeases) {
    ended_lookup_.erase(ended_ids_.front());
    ended_ids_.pop_front();
  }
}

void LeaseLedger::CallEnded(const LeaseEnding& ending) {
  ended_(ending, [this, number = ending.number] { Finished(number); });
}

void LeaseLedger::Finished(int64_t number) {
  absl::MutexLock lock(&mu_);
  leases_.erase(number);
}

}  // namespace winnow::server
