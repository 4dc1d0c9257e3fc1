// How a lease is opened, and what happens to it.

#ifndef WINNOW_CLIENT_LEASE_OPTIONS_H_
#define WINNOW_CLIENT_LEASE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "winnow/client/tensor.h"

namespace winnow::client {

enum class LeaseEventKind {
  kStreamLost = 1,  // the library tries to get it back; `status` says why
  kResumed = 2,     // the stream is back, with everything
  kRestored = 3,    // a new lease, perhaps of a new server process; see `lost` and `failed`
  kDraining = 4,    // the server ends within `remaining`; a next one is looked for after that
  kEnded = 5,       // over for good; `status` says why. The last event
};

struct LeaseEvent {
  LeaseEventKind kind = LeaseEventKind::kStreamLost;
  absl::Status status;
  absl::Duration remaining;
  // Of kRestored: buffers whose contents are gone (they are zero, and may not be read until they
  // are written), and resources that could not be made again, which fail until they are released.
  std::vector<ResourceRef> lost;
  std::vector<ResourceRef> failed;
};

struct LeaseOptions {
  // For operators: `winnow leases` shows it. At most 128 bytes of printable ASCII.
  std::string display_name;
  // How long the server keeps everything when the stream is lost, e.g. by a network that breaks; up
  // to the server's --max-resume-grace. It is also how long it keeps the memory of a client that
  // crashed, and over a Unix socket a stream is lost with one of its ends only: 0 is right there.
  absl::Duration resume_grace = absl::ZeroDuration();
  // Share of the device beside other leases, 1 to 100.
  int32_t weight = 1;
  // The device that the lease and all that it owns live on, by the ordinal that ServerInfo::devices
  // has; none: the least loaded one. A lease that comes back after its server did is on the device
  // where it was; one that named none takes another when the server has that one no more.
  std::optional<int32_t> device;
  // Called for each event, in order, from the lease's own thread with no lock held. May destroy the
  // lease; may use it except in kStreamLost, when a call would wait for the thread that it runs on.
  std::function<void(const LeaseEvent&)> on_event;
};

// Bounds of one lease. Over any: ResourceExhausted (QUOTA_EXCEEDED), naming used and limit.
struct LeaseQuota {
  int64_t max_bytes = 0;              // of buffers, page tables and plans
  int64_t max_resources = 0;          // buffers, page tables and plans together
  int64_t max_inflight_requests = 0;  // waiting or running
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_LEASE_OPTIONS_H_
