#include "server/rpc/lease_stream.h"

#include "absl/strings/str_cat.h"
#include "server/rpc/decode_duration.h"
#include "server/rpc/lease_streams.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/rpc_method.h"
#include "server/rpc/status_mapping.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {

void LeaseStream::AskForCall() {
  service_.RequestOpenLease(&context_, &request_, &writer_, queue_.queue.get(), queue_.queue.get(),
                            &arrived_);
}

void LeaseStream::OnArrived() {
  PostStream<LeaseStream>(service_, queue_, environment_);
  absl::StatusOr<LeaseGrant> grant = Grant();
  if (!grant.ok()) return Fail(grant.status());
  grant_ = *std::move(grant);
  environment_.lease_streams->Add(grant_->number, this, OpenedEvent());
  // Whoever ended the lease since it was granted found no stream to tell.
  if (!environment_.ledger->IsHeld(*grant_)) {
    const bool drains = !CheckServing(environment_).ok();
    environment_.lease_streams->SendEnded(grant_->number,
                                          drains ? LeaseEndCause::kDrain : LeaseEndCause::kNotTold,
                                          "it ended while it was opened");
  }
}

absl::StatusOr<LeaseGrant> LeaseStream::Grant() {
  v1::OpenLeaseRequest request;
  WINNOW_RETURN_IF_ERROR(CheckServing(environment_));
  WINNOW_RETURN_IF_ERROR(ParseMessage(request_, kMessageOverheadBytes, request));
  if (!request.resume_lease_id().empty()) {
    return environment_.ledger->Resume(request.resume_lease_id(), peer());
  }
  LeaseOptions options{.display_name = request.display_name(),
                       .peer = peer(),
                       .weight = request.weight() == 0 ? 1 : request.weight()};
  if (request.has_resume_grace_duration()) {
    WINNOW_ASSIGN_OR_RETURN(options.resume_grace, DecodeDuration("resume_grace_duration",
                                                                 request.resume_grace_duration()));
  }
  if (request.has_device()) options.device = request.device();
  return environment_.ledger->Open(options, RequestsInFlight(environment_));
}

v1::OpenLeaseResponse LeaseStream::OpenedEvent() const {
  v1::OpenLeaseResponse event;
  v1::LeaseOpened& opened = *event.mutable_opened();
  opened.set_lease_id(grant_->lease_id);
  opened.set_resumed(grant_->resumed);
  opened.set_device(grant_->device);
  const LeaseLedgerOptions& limits = environment_.ledger->options();
  opened.mutable_quota()->set_max_bytes(limits.max_lease_bytes);
  opened.mutable_quota()->set_max_resource_count(limits.max_lease_resources);
  opened.mutable_quota()->set_max_inflight_request_count(limits.max_lease_inflight);
  opened.set_descriptor_socket_path(environment_.descriptor_socket_path);
  return event;
}

void LeaseStream::Fail(const absl::Status& status) {
  Start([&] { writer_.Finish(ToGrpcStatus(status), &finished_); });
}

void LeaseStream::Send(const v1::OpenLeaseResponse& event, bool last) {
  grpc::ByteBuffer bytes;
  // An event is far below the bound of a message, which is all that can fail.
  if (!SerializeMessage(event, bytes).ok()) return;
  absl::MutexLock lock(&mu_);
  if (last_queued_) return;
  events_.push_back(std::move(bytes));
  last_queued_ = last;
  if (!writing_) Advance();
}

void LeaseStream::Advance() {
  if (!events_.empty()) {
    writing_ = Start(
        [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { writer_.Write(events_.front(), &written_); });
    events_.pop_front();
    return;
  }
  writing_ = false;
  if (last_queued_) Start([this] { writer_.Finish(grpc::Status::OK, &finished_); });
}

void LeaseStream::OnWritten(bool ok) {
  absl::MutexLock lock(&mu_);
  if (ok) Advance();
}

void LeaseStream::OnOver() {
  if (!grant_.has_value()) return;
  environment_.lease_streams->Remove(grant_->number, this);
  environment_.ledger->StreamLost(*grant_);
}

}  // namespace winnow::server
