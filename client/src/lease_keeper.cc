#include "client/src/lease_keeper.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/src/lease_sweep.h"
#include "client/src/result_decoding.h"
#include "client/src/rpc.h"
#include "winnow/client/descriptor_passing.h"
#include "winnow/client/error.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

constexpr char kOpenLease[] = "/winnow.v1.LeaseService/OpenLease";
constexpr char kCloseLease[] = "/winnow.v1.LeaseService/CloseLease";
// Of one try to get a lease back; a server that answers at all does so far sooner.
constexpr absl::Duration kTryTimeout = absl::Seconds(5);

// Of the word to the server that a lease which never came to life is not wanted.
constexpr absl::Duration kClosePatience = absl::Seconds(2);

// Before resources that find no memory are given up.
constexpr int32_t kPatientTries = 6;

struct RequestStop {
  std::stop_source target;
  void operator()() { target.request_stop(); }
};
using ForwardedStop = std::stop_callback<RequestStop>;

const Metadata& NoMetadata() {
  static const Metadata* const none = new Metadata();
  return *none;
}

v1::OpenLeaseRequest Encode(const LeaseOptions& options, const std::string& resume_lease_id,
                            std::optional<int32_t> device) {
  v1::OpenLeaseRequest request;
  request.set_resume_lease_id(resume_lease_id);
  if (!resume_lease_id.empty()) return request;
  request.set_display_name(options.display_name);
  request.set_weight(options.weight);
  EncodeDuration(options.resume_grace, *request.mutable_resume_grace_duration());
  if (device.has_value()) request.set_device(*device);
  return request;
}

LeaseGrant Decode(const v1::LeaseOpened& opened, const std::string& target) {
  return {.lease_id = opened.lease_id(),
          .descriptor_socket_path = DescriptorSocketPath(target, opened.descriptor_socket_path()),
          .quota = {.max_bytes = opened.quota().max_bytes(),
                    .max_resources = opened.quota().max_resource_count(),
                    .max_inflight_requests = opened.quota().max_inflight_request_count()},
          .resumed = opened.resumed(),
          .device = opened.device()};
}

absl::Status Ended(const v1::LeaseEnded& ended) {
  const bool by_operator = ended.cause() == v1::LEASE_END_CAUSE_OPERATOR;
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   absl::StrCat("the lease was ended", by_operator ? " by an operator" : "",
                                ended.message().empty() ? "" : ": ", ended.message()),
                   {.reason = ErrorReason::kLeaseEnded});
}

bool HasNoSuchDevice(const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return HasReason(status, ErrorReason::kValueOutOfRange) && info.has_value() &&
         info->field == "device";
}

// Whether looking for the lease again may help.
bool IsPassing(const absl::Status& status) {
  return IsTransient(status) || LeaseIsGone(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status) || absl::IsResourceExhausted(status) ||
         HasReason(status, ErrorReason::kResourceBusy);
}

// Whether a resource that could not be made means that the lease is not back.
bool EndsTheTry(const absl::Status& status, bool patient) {
  return IsUnreachable(status) || LeaseIsGone(status) || absl::IsCancelled(status) ||
         absl::IsDeadlineExceeded(status) || (patient && absl::IsResourceExhausted(status));
}

}  // namespace

LeaseKeeper::LeaseKeeper(LeaseChannel channel, LeaseOptions options,
                         std::shared_ptr<LeaseCore> core)
    : channel_(std::move(channel)), options_(std::move(options)), core_(std::move(core)) {}

absl::Status LeaseKeeper::Open(CallSettings settings, const std::stop_token& stop) {
  const CallEnvironment& environment = *channel_.environment;
  settings.method = kOpenLease;
  CallProgress progress(environment, settings);
  while (true) {
    if (stop.stop_requested()) return absl::CancelledError("the caller cancelled the call");
    const absl::Duration remaining = progress.RemainingTime();
    if (remaining <= absl::ZeroDuration()) return progress.TimeoutError();
    absl::StatusOr<OpenStream> opened =
        OpenOnce("", options_.device, remaining, stop, settings.wait_for_ready);
    if (opened.ok()) {
      Hold(*std::move(opened));
      break;
    }
    if (stop.stop_requested()) return absl::CancelledError("the caller cancelled the call");
    const std::optional<absl::Duration> wait = progress.NextAttemptAfter(opened.status());
    if (!wait.has_value()) return progress.Explain(opened.status());
    absl::Notification passed;
    environment.clock->After(*wait, stop, [&passed] { passed.Notify(); });
    passed.WaitForNotification();
  }
  core_->SetStreamCanceller([weak = weak_from_this()] {
    const std::shared_ptr<LeaseKeeper> self = weak.lock();
    if (self == nullptr) return;
    absl::MutexLock lock(&self->mu_);
    self->stream_stop_.request_stop();
  });
  core_->Opened(current_.grant, /*other_server=*/true);
  thread_ = std::thread([self = shared_from_this()] { self->Run(); });
  return absl::OkStatus();
}

absl::Status LeaseKeeper::Close(const CallSettings& settings, const std::stop_token& stop) {
  closing_.request_stop();
  std::string lease_id;
  {
    absl::MutexLock lock(&mu_);
    lease_id = lease_id_;
  }
  // Before the end of the stream, which says as much only without a grace.
  absl::Status status = CloseOnServer(lease_id, settings, stop);
  {
    absl::MutexLock lock(&mu_);
    stream_stop_.request_stop();
  }
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else if (thread_.joinable()) {
    thread_.join();
  }
  // Of a recovery that could not be stopped any more.
  std::string last_lease_id;
  {
    absl::MutexLock lock(&mu_);
    last_lease_id = lease_id_;
  }
  if (last_lease_id != lease_id) status = CloseOnServer(last_lease_id, settings, stop);
  return status;
}

absl::Status LeaseKeeper::CloseOnServer(const std::string& lease_id, CallSettings settings,
                                        const std::stop_token& stop) const {
  if (lease_id.empty()) return absl::OkStatus();
  settings.method = kCloseLease;
  v1::CloseLeaseRequest request;
  request.set_lease_id(lease_id);
  v1::CloseLeaseResponse response;
  const absl::Status status = RunCall(*channel_.environment, settings, stop, request, response);
  return LeaseIsGone(status) ? absl::OkStatus() : status;
}

void LeaseKeeper::Discard(const LeaseGrant& grant) const {
  CloseOnServer(grant.lease_id, {.timeout = kClosePatience, .retry = RetryPolicy::Never()},
                std::stop_token())
      .IgnoreError();
}

void LeaseKeeper::Hold(OpenStream opened) {
  current_ = std::move(opened);
  absl::MutexLock lock(&mu_);
  lease_id_ = current_.grant.lease_id;
}

bool LeaseKeeper::Adopt(const std::stop_source& stream_stop) {
  absl::MutexLock lock(&mu_);
  stream_stop_ = stream_stop;
  return !closing_.stop_requested();
}

void LeaseKeeper::Tell(LeaseEvent event) const {
  if (options_.on_event != nullptr && !closing_.stop_requested()) options_.on_event(event);
}

void LeaseKeeper::Run() {
  while (!Follow()) {
    const absl::Status why = current_.stream->Finish();
    current_.stream.reset();
    if (closing_.stop_requested()) return;
    const absl::Status lost =
        why.ok() ? absl::UnavailableError("the server ended its stream") : why;
    Tell({.kind = LeaseEventKind::kStreamLost, .status = lost});
    if (!core_->BeginRecovery(lost) || !Recover(lost)) return;
  }
}

bool LeaseKeeper::Follow() {
  v1::OpenLeaseResponse event;
  while (current_.stream->Read(event)) {
    if (event.has_draining()) {
      Tell({.kind = LeaseEventKind::kDraining,
            .remaining = ToDuration(event.draining().remaining_duration())});
    } else if (event.has_ended() && event.ended().cause() != v1::LEASE_END_CAUSE_DRAIN) {
      const absl::Status why = Ended(event.ended());
      core_->Ended(why);
      current_.stream.reset();
      {
        absl::MutexLock lock(&mu_);
        lease_id_.clear();
      }
      Tell({.kind = LeaseEventKind::kEnded, .status = why});
      return true;
    }
  }
  return false;
}

bool LeaseKeeper::Recover(const absl::Status& why) {
  absl::Status last = why;
  const RetryPolicy policy;
  for (int32_t attempt = 1; !closing_.stop_requested(); ++attempt) {
    LeaseEvent event;
    last = TryRecover(/*patient=*/attempt <= kPatientTries, event);
    if (last.ok()) {
      Tell(std::move(event));
      return true;
    }
    if (closing_.stop_requested()) return false;
    if (!IsPassing(last)) {
      core_->Ended(last);
      Tell({.kind = LeaseEventKind::kEnded, .status = last});
      return false;
    }
    core_->StillRecovering(absl::UnavailableError(absl::StrCat(
        "cannot get it back from ", channel_.environment->target, ": ", last.message())));
    const double jitter = channel_.environment->jitter();
    if (core_->AwaitClosing(BackoffAfter(policy, std::min(attempt, 16), jitter, last)))
      return false;
  }
  return false;
}

absl::Status LeaseKeeper::TryRecover(bool patient, LeaseEvent& event) {
  const std::stop_token stop = closing_.get_token();
  const ServerIdentity before = current_.server;
  if (has_grace()) {
    absl::StatusOr<OpenStream> resumed = OpenOnce(current_.grant.lease_id, {}, kTryTimeout, stop);
    if (resumed.ok()) {
      ResourceCalls calls = Calls(resumed->grant);
      WINNOW_RETURN_IF_ERROR(Reconcile(calls, *core_));
      Hold(*std::move(resumed));
      core_->Opened(current_.grant, /*other_server=*/false);
      Sweep(*core_, [this](const LeasePass&) { return Calls(current_.grant); });
      event.kind = LeaseEventKind::kResumed;
      return absl::OkStatus();
    }
    if (!LeaseIsGone(resumed.status())) return resumed.status();
  }
  WINNOW_ASSIGN_OR_RETURN(OpenStream opened, OpenAnew(stop));
  event.kind = LeaseEventKind::kRestored;
  if (const absl::Status restored = Restore(opened.grant, patient, event); !restored.ok()) {
    Discard(opened.grant);
    return restored;
  }
  Hold(std::move(opened));
  core_->Opened(current_.grant, current_.server != before);
  Sweep(*core_, [this](const LeasePass&) { return Calls(current_.grant); });
  return absl::OkStatus();
}

absl::StatusOr<LeaseKeeper::OpenStream> LeaseKeeper::OpenAnew(const std::stop_token& stop) {
  // Where the lease was: memory that the caller shares with it may be of that device.
  absl::StatusOr<OpenStream> opened = OpenOnce("", current_.grant.device, kTryTimeout, stop);
  if (!options_.device.has_value() && HasNoSuchDevice(opened.status())) {
    return OpenOnce("", std::nullopt, kTryTimeout, stop);
  }
  return opened;
}

absl::StatusOr<LeaseKeeper::OpenStream> LeaseKeeper::OpenOnce(const std::string& resume_lease_id,
                                                              std::optional<int32_t> device,
                                                              absl::Duration timeout,
                                                              const std::stop_token& stop,
                                                              bool wait_for_ready) {
  std::stop_source stream_stop;
  if (!Adopt(stream_stop)) return absl::CancelledError("the lease is closing");
  OpenStream opened;
  {
    // The stream has no deadline of its own, its beginning has.
    std::stop_source begun;
    std::atomic<bool> timed_out{false};
    const ForwardedStop caller(stop, RequestStop{stream_stop});
    absl::Notification timer_gone;
    channel_.environment->clock->After(std::min(timeout, absl::Hours(1)), begun.get_token(), [&] {
      if (!begun.stop_requested()) {
        timed_out = true;
        stream_stop.request_stop();
      }
      timer_gone.Notify();
    });
    const AttemptOptions options{.stop = stream_stop.get_token(),
                                 .wait_for_ready = wait_for_ready,
                                 .metadata = &NoMetadata()};
    opened.stream = channel_.environment->stub->OpenStream(kOpenLease, options);
    v1::OpenLeaseResponse event;
    const auto open = Encode(options_, resume_lease_id, device);
    if (opened.stream->Write(open)) opened.stream->WritesDone();
    const bool answered = opened.stream->Read(event);
    begun.request_stop();
    timer_gone.WaitForNotification();
    if (!event.has_opened()) {
      if (answered) opened.stream->Cancel();
      absl::Status status = opened.stream->Finish();
      if (timed_out) return absl::DeadlineExceededError("opening the lease took too long");
      const bool odd = answered || status.ok();
      return odd ? absl::InternalError("the server's first event is no lease") : status;
    }
    opened.grant = Decode(event.opened(), channel_.environment->target);
  }
  const absl::StatusOr<ServerIdentity> server = AskIdentity(timeout, stop);
  if (!server.ok() && !opened.grant.resumed) Discard(opened.grant);
  WINNOW_RETURN_IF_ERROR(server.status());
  opened.server = *server;
  return opened;
}

absl::StatusOr<LeaseKeeper::ServerIdentity> LeaseKeeper::AskIdentity(absl::Duration timeout,
                                                                     const std::stop_token& stop) {
  v1::GetServerInfoResponse response;
  WINNOW_RETURN_IF_ERROR(RunCall(*channel_.environment,
                                 {.method = kGetServerInfo.method, .timeout = timeout}, stop,
                                 v1::GetServerInfoRequest(), response));
  ServerInfo info;
  WINNOW_RETURN_IF_ERROR(Decode(response, info));
  return ServerIdentity{.process_id = info.process_id, .start_time = info.start_time};
}

ResourceCalls LeaseKeeper::Calls(const LeaseGrant& grant) const {
  return ResourceCalls(
      *channel_.environment, {.timeout = kTryTimeout}, closing_.get_token(),
      {.lease_id = grant.lease_id, .descriptor_socket_path = grant.descriptor_socket_path});
}

absl::Status LeaseKeeper::Restore(const LeaseGrant& grant, bool patient, LeaseEvent& event) {
  ResourceCalls calls = Calls(grant);
  for (const auto& [ref, record] : core_->Records()) {
    const absl::StatusOr<ServerResourceId> made = calls.Make(*record);
    if (!made.ok() && EndsTheTry(made.status(), patient)) return made.status();
    const bool wanted = core_->With(ref, [&made](ResourceRecord& found) {
      found.broken = made.status();
      if (!made.ok()) return;
      found.id = *made;
      if (std::holds_alternative<AllocatedSource>(found.source)) {
        found.lost.Add(0, found.size_bytes());
      }
    });
    if (!wanted) {  // released meanwhile
      if (made.ok()) WINNOW_RETURN_IF_ERROR(calls.Release(record->kind(), *made));
    } else if (!made.ok()) {
      event.failed.push_back(ref);
    } else if (std::holds_alternative<AllocatedSource>(record->source)) {
      event.lost.push_back(ref);
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow::client
