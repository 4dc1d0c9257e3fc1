// The devices that a server has, and which of them does what. A lease lives on one; a request with
// a lease runs there, one without on the device with the fewest requests.

#ifndef WINNOW_SERVER_RPC_SERVED_DEVICES_H_
#define WINNOW_SERVER_RPC_SERVED_DEVICES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/backend/backend.h"
#include "server/batching/scheduler.h"
#include "server/resources/import_cache.h"
#include "server/rpc/request_resources.h"

namespace winnow::server {

struct RpcEnvironment;

// One device with all that is its own. What the pointers name outlives the RPC server.
struct ServedDevice {
  int32_t number = 0;  // what clients and operators call it
  Backend* backend = nullptr;
  Scheduler* scheduler = nullptr;
  ImportCache* imports = nullptr;
};

// Waiting and running requests of each device, in their order.
std::vector<int64_t> RequestsInFlight(const RpcEnvironment& environment);

// The device that a lease lives on. LEASE_NOT_FOUND, LEASE_ENDED.
absl::StatusOr<const ServedDevice*> DeviceOfLease(const RpcEnvironment& environment,
                                                  absl::string_view lease_id);

// The device for a request: that of its lease, or with null `resources` the one with the fewest
// requests in flight, of equals the first.
const ServedDevice& DeviceForRequest(const RpcEnvironment& environment,
                                     const RequestResources* resources);

// The device of that number. InvalidArgument (VALUE_OUT_OF_RANGE) names `device` and those that
// there are.
absl::StatusOr<const ServedDevice*> DeviceOfNumber(const RpcEnvironment& environment,
                                                   int32_t number);

// What the devices have done, together.
SchedulerStats SumOfSchedulers(absl::Span<const ServedDevice> devices);
BackendStats SumOfBackends(absl::Span<const ServedDevice> devices);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_SERVED_DEVICES_H_
