// The streams that hold leases, so that events of a lease reach its client.

#ifndef WINNOW_SERVER_RPC_LEASE_STREAMS_H_
#define WINNOW_SERVER_RPC_LEASE_STREAMS_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/resources/lease_ledger.h"
#include "winnow/v1/lease_service.pb.h"

namespace winnow::server {

class LeaseStream;

// Thread safety: safe to call from several threads.
class LeaseStreams {
 public:
  // A stream is in it from the grant of its lease to its end. `opened` is its first event, which no
  // other overtakes.
  void Add(int64_t lease_number, LeaseStream* stream, const v1::OpenLeaseResponse& opened);
  void Remove(int64_t lease_number, LeaseStream* stream);

  // Tells a lease's client that it ended, and ends the stream. Nothing when no stream holds it.
  void SendEnded(int64_t lease_number, LeaseEndCause cause, absl::string_view message);
  // Tells every client that the server drains.
  void SendDraining(absl::Duration remaining);

 private:
  absl::Mutex mu_;
  absl::flat_hash_map<int64_t, LeaseStream*> streams_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_LEASE_STREAMS_H_
