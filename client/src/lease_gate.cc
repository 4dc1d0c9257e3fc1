#include "client/src/lease_gate.h"

#include "absl/types/span.h"
#include "winnow/client/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

// Between looks at a lease that recovers: far below the time that a server takes to start.
constexpr absl::Duration kLook = absl::Milliseconds(10);

}  // namespace

absl::StatusOr<absl::Duration> LeaseGate::Admit() {
  if (!lost_reply_.ok()) {
    WINNOW_ASSIGN_OR_RETURN(const absl::Duration wait, AskAfterLostReply());
    if (wait > absl::ZeroDuration()) return wait;
    lost_reply_ = absl::OkStatus();
  }
  WINNOW_ASSIGN_OR_RETURN(std::optional<LeasePass> pass,
                          core_->Admit(absl::MakeSpan(bindings_.uses())));
  if (!pass.has_value()) return kLook;
  pass_ = *std::move(pass);
  bindings_.Apply();
  *lease_id_ = pass_.lease_id;
  return absl::ZeroDuration();
}

absl::StatusOr<absl::Duration> LeaseGate::AskAfterLostReply() {
  if (core_->OtherServerSince(pass_)) return absl::ZeroDuration();
  if (core_->LostSince(pass_)) {
    // Open again, and the server is the same one.
    if (core_->status().ok() || !absl::IsUnavailable(core_->status())) return lost_reply_;
    return kLook;
  }
  if (clock_->Now() - lost_at_ >= kNoticePatience) return lost_reply_;
  return kLook;
}

CallGate::Verdict LeaseGate::Judge(const absl::Status& status) {
  if (status.ok()) {
    core_->Written(pass_, bindings_.uses());
    return Verdict::kAsUsual;
  }
  if (LeaseIsGone(status)) {
    // Nothing ran. The keeper finds out by itself that a lease ended; a stream that holds a lease
    // which the server does not know is worth nothing.
    core_->Suspect(pass_, HasReason(status, ErrorReason::kLeaseNotFound));
    return Verdict::kRepeat;
  }
  if (!IsUnreachable(status)) return Verdict::kAsUsual;
  if (bindings_.writes()) {
    lost_reply_ = status;
    lost_at_ = clock_->Now();
    return Verdict::kRepeat;
  }
  return core_->LostSince(pass_) ? Verdict::kRepeat : Verdict::kAsUsual;
}

}  // namespace winnow::client
