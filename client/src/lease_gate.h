// Lets the attempts of an operation through a lease: they wait while it recovers, name its
// resources as they are called now, and are repeated where a lost lease made them fail.

#ifndef WINNOW_CLIENT_SRC_LEASE_GATE_H_
#define WINNOW_CLIENT_SRC_LEASE_GATE_H_

#include <memory>
#include <optional>
#include <string>

#include "client/src/call.h"
#include "client/src/lease_core.h"
#include "client/src/resource_bindings.h"

namespace winnow::client {

class LeaseGate final : public CallGate {
 public:
  // `lease_id` is the request's field; the request outlives the gate's last use. `clock` outlives
  // the gate.
  LeaseGate(std::shared_ptr<LeaseCore> core, const Clock* clock, ResourceBindings bindings,
            std::string* lease_id)
      : core_(std::move(core)),
        clock_(clock),
        bindings_(std::move(bindings)),
        lease_id_(lease_id) {}

  absl::StatusOr<absl::Duration> Admit() override;
  Verdict Judge(const absl::Status& status) override;
  absl::Status Waiting() const override { return core_->status(); }

 private:
  // The failed attempt of a request that writes to a buffer may still be running on its server: it
  // is repeated only when that server is gone. Until that is known the error waits.
  absl::StatusOr<absl::Duration> AskAfterLostReply();

  const std::shared_ptr<LeaseCore> core_;
  const Clock* const clock_;
  ResourceBindings bindings_;
  std::string* const lease_id_;
  LeasePass pass_;
  absl::Status lost_reply_;
  absl::Time lost_at_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_LEASE_GATE_H_
