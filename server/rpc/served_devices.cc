#include "server/rpc/served_devices.h"

#include <algorithm>

#include "server/resources/device_choice.h"
#include "server/rpc/rpc_environment.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {

std::vector<int64_t> RequestsInFlight(const RpcEnvironment& environment) {
  std::vector<int64_t> requests;
  for (const ServedDevice& device : environment.devices) {
    const SchedulerStats stats = device.scheduler->stats();
    requests.push_back(stats.queued_tasks + stats.running_tasks);
  }
  return requests;
}

absl::StatusOr<const ServedDevice*> DeviceOfLease(const RpcEnvironment& environment,
                                                  absl::string_view lease_id) {
  WINNOW_ASSIGN_OR_RETURN(const int32_t place, environment.ledger->DevicePlaceOf(lease_id));
  return &environment.devices[place];
}

const ServedDevice& DeviceForRequest(const RpcEnvironment& environment,
                                     const RequestResources* resources) {
  if (resources != nullptr) return environment.devices[resources->device_place()];
  if (environment.devices.size() == 1) return environment.devices[0];
  const std::vector<int64_t> requests = RequestsInFlight(environment);
  return environment.devices[std::min_element(requests.begin(), requests.end()) - requests.begin()];
}

absl::StatusOr<const ServedDevice*> DeviceOfNumber(const RpcEnvironment& environment,
                                                   int32_t number) {
  std::vector<LeaseDevice> devices;
  for (const ServedDevice& device : environment.devices) {
    devices.push_back({.number = device.number});
  }
  WINNOW_ASSIGN_OR_RETURN(const int32_t place, FindDevice(devices, number));
  return &environment.devices[place];
}

SchedulerStats SumOfSchedulers(absl::Span<const ServedDevice> devices) {
  SchedulerStats sum;
  for (const ServedDevice& device : devices) {
    const SchedulerStats stats = device.scheduler->stats();
    for (const auto member :
         {&SchedulerStats::queued_tasks, &SchedulerStats::running_tasks,
          &SchedulerStats::queued_host_bytes, &SchedulerStats::submitted,
          &SchedulerStats::completed, &SchedulerStats::rejected_full, &SchedulerStats::expired,
          &SchedulerStats::cancelled, &SchedulerStats::batches, &SchedulerStats::batched_tasks,
          &SchedulerStats::batched_rows}) {
      sum.*member += stats.*member;
    }
  }
  return sum;
}

BackendStats SumOfBackends(absl::Span<const ServedDevice> devices) {
  BackendStats sum;
  for (const ServedDevice& device : devices) {
    const BackendStats stats = device.backend->stats();
    for (const auto member :
         {&BackendStats::launches, &BackendStats::items, &BackendStats::rows, &BackendStats::faults,
          &BackendStats::staging_used_bytes, &BackendStats::buffer_used_bytes}) {
      sum.*member += stats.*member;
    }
    for (int route = 0; route < kRouteCount; ++route) {
      sum.route_rows[route] += stats.route_rows[route];
    }
    sum.device_busy += stats.device_busy;
  }
  return sum;
}

}  // namespace winnow::server
