// Which device of the server a new lease goes to. lease_ledger.h asks.

#ifndef WINNOW_SERVER_RESOURCES_DEVICE_CHOICE_H_
#define WINNOW_SERVER_RESOURCES_DEVICE_CHOICE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace winnow::server {

// A device as leases see it.
struct LeaseDevice {
  int32_t number = 0;  // what clients and operators call it, as --devices names it
  int64_t max_bytes = int64_t{1} << 30;  // of all leases on it
};

struct DeviceLoad {
  int64_t reserved_bytes = 0;      // of the resources of its leases
  int64_t leases = 0;              // open, waiting and ending ones
  int64_t requests_in_flight = 0;  // waiting or running, with a lease or without
};

// The place of the device with the fewest reserved bytes; of equals the one with the fewest leases,
// then the fewest requests in flight, then the first. Leases count because clients open theirs
// before they fill them. `loads` is not empty.
int32_t LeastLoaded(absl::Span<const DeviceLoad> loads);

// The place of device `number`. InvalidArgument (VALUE_OUT_OF_RANGE) naming `device`, the number
// and those that there are.
absl::StatusOr<int32_t> FindDevice(absl::Span<const LeaseDevice> devices, int32_t number);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RESOURCES_DEVICE_CHOICE_H_
