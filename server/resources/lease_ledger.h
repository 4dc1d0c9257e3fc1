// Who owns what: leases, their resources, quotas and endings. A state machine over a Clock; no
// gRPC, no device.
//
// A lease is OPEN while a stream holds it, WAITING for its client after the stream was lost (with a
// grace), ENDING until its running work is done. Next: buffer.h, page_table.h and plan.h for the
// resources.

#ifndef WINNOW_SERVER_RESOURCES_LEASE_LEDGER_H_
#define WINNOW_SERVER_RESOURCES_LEASE_LEDGER_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/base/clock.h"
#include "server/resources/device_choice.h"
#include "server/resources/quota.h"
#include "server/resources/resource.h"
#include "server/resources/resource_id.h"

namespace winnow::server {

struct LeaseLedgerOptions {
  int64_t max_leases = 1024;
  int64_t max_lease_bytes = int64_t{1} << 30;
  int64_t max_lease_resources = 4096;
  int64_t max_lease_inflight = 1024;
  // Each with a bound of its own for bytes: together they bound the server's. At least one.
  std::vector<LeaseDevice> devices = {{}};
  int64_t max_server_resources = 65536;
  absl::Duration max_resume_grace = absl::Minutes(5);
};

enum class LeaseState { kOpen = 1, kWaiting = 2, kEnding = 3 };

// Who ended a lease.
enum class LeaseEndCause {
  kNotTold = 0,  // its stream is lost and its grace over: nobody is left to tell
  kOperator = 1,
  kClosed = 2,  // by its id
  kDrain = 3,
};

struct LeaseOptions {
  std::string display_name;
  std::string peer;
  absl::Duration resume_grace;
  int32_t weight = 1;
  std::optional<int32_t> device;  // by its number; none: the least loaded
};

// What a stream needs to hold its lease.
struct LeaseGrant {
  std::string lease_id;  // 32 hexadecimal digits; whoever has it can use the lease
  int64_t number = 0;    // from 1, never reused; the scheduler's flow id
  int64_t stream =
      0;  // which stream holds the lease; an earlier stream's end does not touch a resumed lease
  bool resumed = false;
  int32_t device = 0;  // the number of the one that the lease lives on, to its end
};

// A lease that ends.
struct LeaseEnding {
  int64_t number = 0;
  int32_t device_place = 0;
  LeaseEndCause cause = LeaseEndCause::kNotTold;
  absl::string_view message;  // the operator's, or why
};

struct LeaseSummary {
  int64_t number = 0;
  LeaseOptions options;
  LeaseState state = LeaseState::kOpen;
  int32_t device = 0;  // its number
  absl::Duration age;
  int64_t used_bytes = 0;
  int64_t buffers = 0;
  int64_t page_tables = 0;
  int64_t plans = 0;
  int64_t inflight = 0;
};

struct ResourceSummary {
  ResourceId id;
  ResourceKind kind;
  int64_t size_bytes = 0;
  int64_t version = 0;
};

// Taken by a request that names a lease; the lease's quota of requests in flight is held until it
// is destroyed.
struct LeaseUse {
  int64_t number = 0;
  int32_t weight = 1;
  int32_t device_place = 0;  // in LeaseLedgerOptions::devices
  QuotaHold inflight;
};

// Thread safety: safe to call from several threads. Calls out (the Ended callback) with no lock
// held.
class LeaseLedger {
 public:
  // Called once for each lease that ends, from the thread that ended it and perhaps from several at
  // once, so that its queued work is dropped (Scheduler::EndFlow). `finished` must be called once,
  // when none of its work runs any more; the ledger must then still exist.
  using Ended = absl::AnyInvocable<void(const LeaseEnding& ending,
                                        absl::AnyInvocable<void() &&> finished) const>;

  // `clock` outlives the ledger.
  LeaseLedger(LeaseLedgerOptions options, Clock* clock, Ended ended);
  ~LeaseLedger();

  // InvalidArgument for options outside their range; ResourceExhausted (QUOTA_EXCEEDED) when the
  // server has its leases; Unavailable (SERVER_DRAINING) after Close. `requests_in_flight` of each
  // device, in their order, is for the choice of one; empty counts as none.
  absl::StatusOr<LeaseGrant> Open(const LeaseOptions& options,
                                  absl::Span<const int64_t> requests_in_flight = {});
  // NotFound (LEASE_NOT_FOUND) for an unknown id, FailedPrecondition (LEASE_ENDED) past its grace,
  // (RESOURCE_BUSY) while another stream holds it. Errors name resume_lease_id.
  absl::StatusOr<LeaseGrant> Resume(absl::string_view lease_id, absl::string_view peer);

  // The stream of `grant` is gone: the lease waits for its grace, or ends. Does nothing if the
  // lease was resumed since.
  void StreamLost(const LeaseGrant& grant);
  // End and CloseLease: the lease ends now, whatever its grace. When they return, its ids are
  // stale, Ended has returned, and memory that no request uses is free.
  // By its number, for an operator. NotFound (LEASE_NOT_FOUND) when it is not open.
  absl::Status End(int64_t number, absl::string_view message);
  // By its id, for its client. NotFound (LEASE_NOT_FOUND) for an unknown one, FailedPrecondition
  // (LEASE_ENDED) when it has ended.
  absl::Status CloseLease(absl::string_view lease_id);
  // Ends the leases whose grace is over. Returns when to call next; InfiniteFuture when nothing
  // waits.
  absl::Time ExpireGraces();
  // Refuses new leases and ends all there are.
  void Close(absl::string_view message);
  // Whether the stream of `grant` still holds its lease.
  bool IsHeld(const LeaseGrant& grant) const;

  // For a request: LEASE_NOT_FOUND, LEASE_ENDED, or QUOTA_EXCEEDED for its requests in flight.
  absl::StatusOr<LeaseUse> Use(absl::string_view lease_id);

  // The place, in LeaseLedgerOptions::devices, of the device that the lease lives on.
  absl::StatusOr<int32_t> DevicePlaceOf(absl::string_view lease_id) const;

  // Quota for a resource of `bytes`, to be taken before its memory is. Pass it to Add.
  absl::StatusOr<std::vector<QuotaHold>> Reserve(absl::string_view lease_id, int64_t bytes);
  absl::StatusOr<ResourceId> Add(absl::string_view lease_id, std::shared_ptr<Resource> resource,
                                 std::vector<QuotaHold> holds);
  // RESOURCE_NOT_FOUND, RESOURCE_STALE, RESOURCE_FOREIGN, or FIELDS_CONFLICT (InvalidArgument) for
  // another kind. A kBuffer is found among imported buffers too. `field` names the id in the error.
  absl::StatusOr<std::shared_ptr<Resource>> Find(absl::string_view lease_id, ResourceId id,
                                                 ResourceKind kind, absl::string_view field) const;
  // As Find; the id is stale from then on.
  absl::Status Release(absl::string_view lease_id, ResourceId id, ResourceKind kind,
                       absl::string_view field);

  absl::StatusOr<std::vector<ResourceSummary>> Resources(absl::string_view lease_id) const;
  std::vector<LeaseSummary> List() const;  // by number
  const LeaseLedgerOptions& options() const { return options_; }
  int64_t used_bytes() const;  // of all devices
  // Of each device, in their order; requests in flight are left out.
  std::vector<DeviceLoad> DeviceLoads() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Lease;
  struct Slot {
    int64_t generation = 0;
    int64_t lease_number = 0;  // 0: free
    int64_t created = 0;       // order of creation
    std::shared_ptr<Resource> resource;
  };

  // `field` names the id in the error.
  absl::StatusOr<Lease*> FindLease(absl::string_view lease_id,
                                   absl::string_view field = "lease_id") const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<int64_t> NumberOf(absl::string_view lease_id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Bytes and count of the lease, then bytes of its device and count of the server.
  std::array<std::shared_ptr<Quota>, 4> QuotasOf(const Lease& lease) const;
  absl::StatusOr<const Slot*> FindSlot(absl::string_view lease_id, ResourceId id, ResourceKind kind,
                                       absl::string_view field) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Moves the lease to ENDING and its resources to `dropped`, to be destroyed without the lock.
  // What it returns is for CallEnded, also without the lock.
  LeaseEnding BeginEnd(Lease& lease, LeaseEndCause cause, absl::string_view message,
                       std::vector<std::shared_ptr<Resource>>& dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RememberEnded(const std::string& lease_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CallEnded(const LeaseEnding& ending);
  void Finished(int64_t number);
  int32_t ChooseDevice(absl::Span<const int64_t> requests_in_flight) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<DeviceLoad> Loads() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const LeaseLedgerOptions options_;
  Clock* const clock_;
  std::vector<std::shared_ptr<Quota>> device_bytes_;  // constant after construction
  const std::shared_ptr<Quota> server_resources_;

  const Ended ended_;

  mutable absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  int64_t next_number_ ABSL_GUARDED_BY(mu_) = 1;
  int64_t next_stream_ ABSL_GUARDED_BY(mu_) = 1;
  int64_t next_created_ ABSL_GUARDED_BY(mu_) = 1;
  std::map<int64_t, std::unique_ptr<Lease>> leases_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Lease*> by_id_ ABSL_GUARDED_BY(mu_);  // open and waiting
  std::deque<std::string> ended_ids_ ABSL_GUARDED_BY(mu_);  // the latest, for LEASE_ENDED
  absl::flat_hash_set<std::string> ended_lookup_ ABSL_GUARDED_BY(mu_);
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> free_slots_ ABSL_GUARDED_BY(mu_);
  const int64_t first_generation_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_LEASE_LEDGER_H_
