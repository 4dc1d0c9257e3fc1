// The state of a lease on the client's side: whether it is open, what it owns, who may go on. Knows
// neither gRPC nor the contract; lease_keeper.h drives it, lease_gate.h and lease_connection_impl.h
// ask it.

#ifndef WINNOW_CLIENT_SRC_LEASE_CORE_H_
#define WINNOW_CLIENT_SRC_LEASE_CORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/src/resource_record.h"
#include "winnow/client/lease_options.h"

namespace winnow::client {

// What a server granted.
struct LeaseGrant {
  std::string lease_id;
  std::string descriptor_socket_path;
  LeaseQuota quota;
  bool resumed = false;
  int32_t device = 0;
};

// Where the lease stood when a call was let through.
struct LeasePass {
  std::string lease_id;
  std::string descriptor_socket_path;
  int64_t epoch = 0;   // one more with each new lease
  int64_t losses = 0;  // of the stream, so far
  int64_t server = 0;  // one more with each new server process
};

// The stream of a lease ends with the connection of its calls: so long after a call could not reach
// the server, its keeper has seen that even on a busy machine. Without a loss by then, another
// connection broke.
inline constexpr absl::Duration kNoticePatience = absl::Milliseconds(900);

// Whether a server says that it does not know the lease, or not any more.
bool LeaseIsGone(const absl::Status& status);

// One use of a resource by a request.
struct ResourceUse {
  ResourceRef ref;
  ResourceKind kind = ResourceKind::kBuffer;
  std::string field;  // for errors
  bool writes = false;
  StridedBytes bytes;   // of a buffer
  ServerResourceId id;  // what it is called now; set by Admit
};

// Thread safety: safe to call from several threads. Calls out with no lock held.
class LeaseCore {
 public:
  LeaseCore();

  // Ok, Unavailable (waits for its server) or FailedPrecondition (LEASE_ENDED).
  absl::Status status() const;
  LeaseQuota quota() const;
  int32_t device() const;

  // --- For operations. ---
  // Resolves `uses` at once. nullopt: the lease is not open now, ask again. Errors: LEASE_ENDED,
  // RESOURCE_FOREIGN, RESOURCE_STALE, RESOURCE_NOT_FOUND, DataLoss, or why the resource is broken.
  absl::StatusOr<std::optional<LeasePass>> Admit(absl::Span<ResourceUse> uses);
  // The call that `pass` let through succeeded: what it wrote may be read again.
  void Written(const LeasePass& pass, absl::Span<const ResourceUse> uses);
  // A server did not know the lease of `pass`: nobody is let through until the keeper has looked.
  // `cancel_stream`: see SetStreamCanceller.
  void Suspect(const LeasePass& pass, bool cancel_stream);
  // Whether the stream was lost since, or the lease is over.
  bool LostSince(const LeasePass& pass) const;
  // Whether the lease is of another server process now.
  bool OtherServerSince(const LeasePass& pass) const;

  // --- For calls that make, change or release resources; a recovery waits for them. ---
  // Blocks until the lease is open and not being swept. Every Ok is followed by one EndMutation.
  // Unavailable at the deadline, Cancelled when `stop` was stopped, FailedPrecondition when the
  // lease has ended.
  absl::StatusOr<LeasePass> BeginMutation(absl::Time deadline, const std::stop_token& stop);
  void EndMutation();

  // The server may hold a resource that the lease does not know: whether one was made or released
  // is open, and the lease may live on. Cleared by the next sweep.
  void Doubt();
  // Passes when there is doubt, the lease is open and no mutation is under way; none begins before
  // EndSweep. nullopt otherwise: whoever sweeps next will do.
  std::optional<LeasePass> BeginSweep();
  // `swept`: what the server held too much is gone.
  void EndSweep(bool swept);

  // Blocks until LostSince(pass), for `patience` at most.
  bool AwaitLoss(const LeasePass& pass, absl::Duration patience) const;

  ResourceRef Add(std::shared_ptr<ResourceRecord> record);
  absl::StatusOr<std::shared_ptr<ResourceRecord>> Find(const ResourceRef& ref, ResourceKind kind,
                                                       absl::string_view field) const;
  // Null when it is not there. From then on its reference is stale.
  std::shared_ptr<ResourceRecord> Remove(const ResourceRef& ref);
  // Calls `change` with the record under the lock. False when it is not there.
  bool With(const ResourceRef& ref, const std::function<void(ResourceRecord&)>& change) const;

  // --- For the keeper. ---
  // How to cancel the stream that holds the lease, from any thread.
  void SetStreamCanceller(std::function<void()> cancel);
  void Opened(const LeaseGrant& grant, bool other_server);
  // Returns when no mutation is under way, or false when the lease is closing.
  bool BeginRecovery(const absl::Status& why);
  // Why the recovery takes long.
  void StillRecovering(const absl::Status& why);
  void Ended(const absl::Status& why);
  // Waits; true when the lease is closing.
  bool AwaitClosing(absl::Duration patience) const;
  std::vector<std::pair<ResourceRef, std::shared_ptr<ResourceRecord>>> Records() const;

  // The owner ends the lease. False when it was called before.
  bool Close();

 private:
  enum class State { kOpening, kOpen, kRecovering, kEnded };

  bool IsOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return state_ == State::kOpen && suspected_epoch_ != epoch_;
  }
  LeasePass Pass() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status NotOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<ResourceRecord*> FindLocked(const ResourceRef& ref, ResourceKind kind,
                                             absl::string_view field) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int64_t number_;  // in this process

  mutable absl::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kOpening;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status why_ ABSL_GUARDED_BY(mu_);  // not open
  LeaseGrant grant_ ABSL_GUARDED_BY(mu_);
  int64_t epoch_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t losses_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t server_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t suspected_epoch_ ABSL_GUARDED_BY(mu_) = -1;
  int64_t mutations_ ABSL_GUARDED_BY(mu_) = 0;
  bool doubted_ ABSL_GUARDED_BY(mu_) = false;
  bool sweeping_ ABSL_GUARDED_BY(mu_) = false;  // then it is the one mutation
  int64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<int64_t, std::shared_ptr<ResourceRecord>> records_ ABSL_GUARDED_BY(mu_);
  std::function<void()> cancel_stream_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_LEASE_CORE_H_
