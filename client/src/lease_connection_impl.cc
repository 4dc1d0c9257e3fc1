#include "client/src/lease_connection_impl.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/src/call_settings.h"
#include "client/src/lease_sweep.h"
#include "winnow/client/error.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

// Of the end of a lease, which a destructor waits for.
constexpr absl::Duration kEndPatience = absl::Seconds(2);

StridedBytes OneRange(int64_t offset_bytes, size_t size) {
  const auto bytes = static_cast<int64_t>(size);
  return {.offset = offset_bytes, .rows = 1, .row_bytes = bytes, .stride_bytes = bytes};
}

}  // namespace

LeaseConnectionImpl::LeaseConnectionImpl(ClientOptions defaults, LeaseChannel channel,
                                         std::shared_ptr<LeaseCore> core,
                                         std::shared_ptr<LeaseKeeper> keeper,
                                         std::shared_ptr<Connection> operations)
    : defaults_(std::move(defaults)),
      channel_(std::move(channel)),
      core_(std::move(core)),
      keeper_(std::move(keeper)),
      operations_(std::move(operations)) {}

LeaseConnectionImpl::~LeaseConnectionImpl() { End(); }

absl::Status LeaseConnectionImpl::Close(const CallOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(CallSettings settings,
                          MakeCallSettings(defaults_, options, "", Repeat::kSafe));
  if (!core_->Close()) return absl::OkStatus();
  return keeper_->Close(std::move(settings), options.stop);
}

void LeaseConnectionImpl::End() {
  Close({.timeout = kEndPatience, .retry = RetryPolicy::Never()}).IgnoreError();
}

absl::Status LeaseConnectionImpl::Mutate(const CallOptions& options, AfterLoss after_loss,
                                         Attempt attempt) {
  WINNOW_ASSIGN_OR_RETURN(CallSettings settings,
                          MakeCallSettings(defaults_, options, "", Repeat::kWhenRefused));
  const Clock& clock = *channel_.environment->clock;
  const absl::Time deadline = clock.Now() + settings.timeout;
  const absl::Time wall_deadline = absl::Now() + settings.timeout;
  while (true) {
    settings.timeout = deadline - clock.Now();
    SweepIfInDoubt(settings, options.stop);
    WINNOW_ASSIGN_OR_RETURN(const LeasePass pass,
                            core_->BeginMutation(wall_deadline, options.stop));
    settings.timeout = deadline - clock.Now();
    ResourceCalls calls(*channel_.environment, settings, options.stop, pass);
    const absl::Status status = attempt(calls, pass);
    if (LeavesDoubt(status)) core_->Doubt();
    core_->EndMutation();
    if (LeaseIsGone(status)) {
      core_->Suspect(pass, HasReason(status, ErrorReason::kLeaseNotFound));
      continue;
    }
    if (status.ok() || !IsUnreachable(status)) return status;
    const bool lost = core_->AwaitLoss(pass, std::min(kNoticePatience, deadline - clock.Now()));
    if (after_loss == AfterLoss::kRepeatAlways && clock.Now() < deadline) continue;
    if (!lost) return status;
    if (after_loss == AfterLoss::kRepeat) continue;
    // Whether the server is another one is known when the lease is open again.
    WINNOW_RETURN_IF_ERROR(core_->BeginMutation(wall_deadline, options.stop).status());
    core_->EndMutation();
    if (!core_->OtherServerSince(pass)) return status;
  }
}

void LeaseConnectionImpl::SweepIfInDoubt(const CallSettings& settings,
                                         const std::stop_token& stop) {
  Sweep(*core_, [&](const LeasePass& pass) {
    return ResourceCalls(*channel_.environment, settings, stop, pass);
  });
}

absl::StatusOr<ResourceRef> LeaseConnectionImpl::Create(
    ResourceRecord::Source source, const CallOptions& options,
    absl::FunctionRef<absl::StatusOr<ServerResourceId>(ResourceCalls&, ResourceRecord&)> make) {
  const auto record = std::make_shared<ResourceRecord>(std::move(source));
  ResourceRef ref;
  // A recovery or a sweep releases what a lost reply may have made.
  WINNOW_RETURN_IF_ERROR(
      Mutate(options, AfterLoss::kRepeat, [&](ResourceCalls& calls, const LeasePass&) {
        WINNOW_ASSIGN_OR_RETURN(record->id, make(calls, *record));
        ref = core_->Add(record);
        return absl::OkStatus();
      }));
  return ref;
}

absl::StatusOr<ResourceRef> LeaseConnectionImpl::AllocateBuffer(int64_t size_bytes,
                                                                const CallOptions& options) {
  return Create(AllocatedSource{.size_bytes = size_bytes}, options,
                [](ResourceCalls& calls, ResourceRecord& record) { return calls.Make(record); });
}

absl::StatusOr<ResourceRef> LeaseConnectionImpl::ImportBuffer(const SharedMemoryRange& memory,
                                                              const CallOptions& options) {
  UniqueDescriptor descriptor(fcntl(memory.descriptor, F_DUPFD_CLOEXEC, 0));
  if (!descriptor.valid()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat("descriptor is ", memory.descriptor, ": ", std::strerror(errno)),
                     {.reason = ErrorReason::kValueOutOfRange,
                      .field = "descriptor",
                      .value = absl::StrCat(memory.descriptor)});
  }
  return Create(ImportedSource{.descriptor = std::move(descriptor),
                               .offset_bytes = memory.offset_bytes,
                               .size_bytes = memory.size_bytes,
                               .read_only = memory.read_only},
                options,
                [](ResourceCalls& calls, ResourceRecord& record) { return calls.Make(record); });
}

absl::Status LeaseConnectionImpl::WriteBuffer(const ResourceRef& buffer, int64_t offset_bytes,
                                              absl::Span<const std::byte> bytes,
                                              const CallOptions& options) {
  ResourceUse use = {.ref = buffer,
                     .field = "buffer",
                     .writes = true,
                     .bytes = OneRange(offset_bytes, bytes.size())};
  // A stream that broke may still be read from by its server.
  return Mutate(options, AfterLoss::kRepeatOnOtherServer,
                [&](ResourceCalls& calls, const LeasePass& pass) {
                  WINNOW_RETURN_IF_ERROR(core_->Admit(absl::MakeSpan(&use, 1)).status());
                  WINNOW_RETURN_IF_ERROR(calls.WriteBuffer(use.id, offset_bytes, bytes));
                  core_->Written(pass, absl::MakeSpan(&use, 1));
                  return absl::OkStatus();
                });
}

absl::Status LeaseConnectionImpl::ReadBuffer(const ResourceRef& buffer, int64_t offset_bytes,
                                             absl::Span<std::byte> bytes,
                                             const CallOptions& options) {
  ResourceUse use = {
      .ref = buffer, .field = "buffer", .bytes = OneRange(offset_bytes, bytes.size())};
  return Mutate(options, AfterLoss::kRepeat, [&](ResourceCalls& calls, const LeasePass&) {
    WINNOW_RETURN_IF_ERROR(core_->Admit(absl::MakeSpan(&use, 1)).status());
    // To the contract, no bytes mean all of them.
    if (bytes.empty()) return absl::OkStatus();
    return calls.ReadBuffer(use.id, offset_bytes, bytes);
  });
}

bool LeaseConnectionImpl::ContentsLost(const ResourceRef& buffer) const {
  bool lost = false;
  core_->With(buffer, [&lost](const ResourceRecord& record) { lost = !record.lost.empty(); });
  return lost;
}

void LeaseConnectionImpl::AcceptLoss(const ResourceRef& buffer) {
  core_->With(buffer, [](ResourceRecord& record) { record.lost.Clear(); });
}

absl::StatusOr<ResourceRef> LeaseConnectionImpl::CreatePageTable(const PageTableOptions& table,
                                                                 const CallOptions& options) {
  // Only the server says what a table may be; the mirror must not be larger than that meanwhile.
  const bool plausible = table.rows >= 0 && table.rows <= kMaxRows;
  PageTableMirror mirror(plausible ? table : PageTableOptions{});
  return Create(std::move(mirror), options, [&](ResourceCalls& calls, ResourceRecord& record) {
    auto& made = std::get<PageTableMirror>(record.source);
    absl::StatusOr<ServerResourceId> id = calls.CreatePageTable(table);
    if (id.ok()) made.SetInitial(table.initial);
    return id;
  });
}

absl::StatusOr<int64_t> LeaseConnectionImpl::UpdatePageTable(const ResourceRef& table,
                                                             const PageTableUpdate& update,
                                                             const CallOptions& options) {
  const auto pending =
      std::make_shared<PageTableMirror::Pending>(PageTableMirror::Pending{.update = update});
  WINNOW_RETURN_IF_ERROR(Mutate(
      options, AfterLoss::kRepeatAlways,
      [&](ResourceCalls& calls, const LeasePass&) { return UpdateOnce(calls, table, pending); }));
  return pending->applied_version;
}

absl::Status LeaseConnectionImpl::ResolvePending(ResourceCalls& calls, const ResourceRef& ref,
                                                 const ResourceRecord& record) {
  if (!std::get<PageTableMirror>(record.source).has_pending()) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const int64_t version, calls.VersionOf(record.id));
  core_->With(ref, [version](ResourceRecord& found) {
    std::get<PageTableMirror>(found.source).ResolvePending(version);
  });
  return absl::OkStatus();
}

absl::Status LeaseConnectionImpl::UpdateOnce(
    ResourceCalls& calls, const ResourceRef& ref,
    const std::shared_ptr<PageTableMirror::Pending>& pending) {
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<ResourceRecord> record,
                          core_->Find(ref, ResourceKind::kPageTable, "page_table"));
  absl::MutexLock lock(&record->mutation);
  auto& mirror = std::get<PageTableMirror>(record->source);
  // An earlier update's reply was lost, perhaps this one's.
  WINNOW_RETURN_IF_ERROR(ResolvePending(calls, ref, *record));
  if (pending->applied_version != 0) return absl::OkStatus();
  mirror.SetPending(pending);
  const absl::StatusOr<int64_t> updated =
      calls.UpdatePageTable(record->id, pending->update, mirror.server_version());
  if (updated.ok()) {
    core_->With(ref, [&](ResourceRecord&) { mirror.ResolvePending(*updated); });
    return absl::OkStatus();
  }
  // Whoever refused it has not applied it; anything else may hide that it was.
  if (GetErrorInfo(updated.status()).has_value()) mirror.SetPending(nullptr);
  return updated.status();
}

absl::StatusOr<ResourceRef> LeaseConnectionImpl::ForkPageTable(
    const ResourceRef& table, absl::Span<const int64_t> source_rows, const CallOptions& options) {
  ResourceRef ref;
  WINNOW_RETURN_IF_ERROR(
      Mutate(options, AfterLoss::kRepeat, [&](ResourceCalls& calls, const LeasePass&) {
        WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<ResourceRecord> record,
                                core_->Find(table, ResourceKind::kPageTable, "page_table"));
        // No update comes between the server's copy and ours.
        absl::MutexLock lock(&record->mutation);
        WINNOW_RETURN_IF_ERROR(ResolvePending(calls, table, *record));
        WINNOW_ASSIGN_OR_RETURN(const ServerResourceId id,
                                calls.ForkPageTable(record->id, source_rows));
        const auto fork = std::make_shared<ResourceRecord>(
            std::get<PageTableMirror>(record->source).Fork(source_rows));
        fork->id = id;
        ref = core_->Add(fork);
        return absl::OkStatus();
      }));
  return ref;
}

int64_t LeaseConnectionImpl::PageTableVersion(const ResourceRef& table) const {
  int64_t version = 0;
  core_->With(table, [&version](const ResourceRecord& record) {
    const auto* mirror = std::get_if<PageTableMirror>(&record.source);
    if (mirror != nullptr) version = mirror->version();
  });
  return version;
}

absl::StatusOr<ResourceRef> LeaseConnectionImpl::CreatePlan(const PlanTopKRequest& request,
                                                            const CallOptions& options) {
  const MatrixView* lengths = request.lengths.view();
  if (lengths == nullptr || lengths->dtype != DType::kInt32 || lengths->columns != 1 ||
      lengths->rows < 0 || (lengths->rows > 0 && lengths->data == nullptr)) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     "lengths is not an int32 column in the caller's memory; a plan keeps a copy "
                     "of it",
                     {.reason = ErrorReason::kFieldsConflict, .field = "lengths"});
  }
  PlanSource plan{.request = request};
  plan.request.lengths = TensorRef();
  const int64_t stride = lengths->row_stride == 0 ? 1 : lengths->row_stride;
  const char* data = static_cast<const char*>(lengths->data);
  plan.lengths.resize(lengths->rows);
  for (int64_t row = 0; row < lengths->rows; ++row) {
    std::memcpy(&plan.lengths[row], data + row * stride * sizeof(int32_t), sizeof(int32_t));
  }
  return Create(std::move(plan), options,
                [](ResourceCalls& calls, ResourceRecord& record) { return calls.Make(record); });
}

PlanTopKResult LeaseConnectionImpl::PlanSummary(const ResourceRef& plan) const {
  PlanTopKResult summary;
  core_->With(plan, [&summary](const ResourceRecord& record) {
    const auto* source = std::get_if<PlanSource>(&record.source);
    if (source != nullptr) summary = source->summary;
  });
  return summary;
}

absl::Status LeaseConnectionImpl::Release(const ResourceRef& resource, const CallOptions& options) {
  const std::shared_ptr<ResourceRecord> record = core_->Remove(resource);
  // With its lease, or released before.
  if (record == nullptr) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const CallSettings settings,
                          MakeCallSettings(defaults_, options, "", Repeat::kWhenRefused));
  const absl::StatusOr<LeasePass> pass = core_->BeginMutation(absl::InfinitePast(), options.stop);
  if (!pass.ok()) {
    // The server is told when the lease is open again, which it may be by now.
    core_->Doubt();
    SweepIfInDoubt(settings, options.stop);
    return absl::OkStatus();
  }
  ResourceCalls calls(*channel_.environment, settings, options.stop, *pass);
  const absl::Status status = calls.Release(record->kind(), record->id);
  if (LeavesDoubt(status)) core_->Doubt();
  core_->EndMutation();
  return IsUnreachable(status) || LeaseIsGone(status) ? absl::OkStatus() : status;
}

}  // namespace winnow::client
