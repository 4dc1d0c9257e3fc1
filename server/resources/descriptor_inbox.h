// File descriptors that came over the descriptor socket and wait for the ImportBuffer call that
// uses them.

#ifndef WINNOW_SERVER_RESOURCES_DESCRIPTOR_INBOX_H_
#define WINNOW_SERVER_RESOURCES_DESCRIPTOR_INBOX_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/resources/shared_memory.h"

namespace winnow::server {

// Thread safety: safe to call from several threads.
class DescriptorInbox {
 public:
  struct Options {
    int64_t max_waiting = 2048;            // of all leases: descriptors are scarce in a process
    int64_t max_waiting_per_lease = 1024;  // one import of mapped memory takes as many
    absl::Duration lifetime = absl::Minutes(1);
  };

  // `clock` outlives the inbox.
  DescriptorInbox(Options options, Clock* clock) : options_(options), clock_(clock) {}

  // Keeps the descriptor for its lifetime and returns the token to claim it with, 32 hexadecimal
  // digits. ResourceExhausted (QUOTA_EXCEEDED) naming used and limit.
  absl::StatusOr<std::string> Put(absl::string_view lease_id, UniqueFd descriptor);

  // Hands the descriptor over; a token is good once. NotFound (RESOURCE_NOT_FOUND) for unknown,
  // used and expired tokens, PermissionDenied (RESOURCE_FOREIGN) for another lease's, which stays
  // where it is.
  absl::StatusOr<UniqueFd> Take(absl::string_view lease_id, absl::string_view token);

  // Closes what is past its lifetime.
  void DropExpired();

  int64_t waiting() const;

 private:
  struct Waiting {
    std::string lease_id;
    UniqueFd descriptor;
    absl::Time expires;
  };

  void DropExpiredLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  Clock* const clock_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_DESCRIPTOR_INBOX_H_
