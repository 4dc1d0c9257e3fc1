// The long but plain replies of the admin service.

#include "client/src/result_decoding.h"

namespace winnow::client {
namespace {

DeviceDescription ToDevice(const v1::DeviceDescription& message) {
  return {.kind = message.kind(),
          .name = message.name(),
          .ordinal = message.ordinal(),
          .multiprocessors = message.multiprocessor_count(),
          .compute_capability = message.compute_capability(),
          .memory_bytes = message.memory_bytes(),
          .max_cluster_size = message.max_cluster_size(),
          .pool_width = message.pool_width(),
          .pool_note = message.pool_note(),
          .instruction_set = message.instruction_set(),
          .multi_process_service = message.multi_process_service(),
          .shares_memory = message.shares_memory(),
          .load = {.leased_bytes = message.load().leased_bytes(),
                   .max_leased_bytes = message.load().max_leased_bytes(),
                   .leases = message.load().lease_count(),
                   .queued_requests = message.load().queued_request_count(),
                   .running_requests = message.load().running_request_count()}};
}

ServerLimits ToLimits(const v1::ServerLimits& message) {
  return {.max_k = message.max_k(),
          .max_rows = message.max_row_count(),
          .max_columns = message.max_column_count(),
          .max_inline_bytes = message.max_inline_bytes(),
          .max_steps = message.max_step_count(),
          .max_queued_requests = message.max_queued_request_count(),
          .max_queued_bytes = message.max_queued_bytes()};
}

}  // namespace

absl::Status Decode(v1::GetServerInfoResponse& message, ServerInfo& info) {
  info.version = message.version();
  info.state = static_cast<ServerState>(message.state());
  info.backend_reason = message.backend_reason();
  info.device = ToDevice(message.device());
  for (const v1::DeviceDescription& device : message.devices()) {
    info.devices.push_back(ToDevice(device));
  }
  // A server that knows of one device only does not list it.
  if (info.devices.empty()) info.devices.push_back(info.device);
  info.limits = ToLimits(message.limits());
  info.listeners.assign(message.listeners().begin(), message.listeners().end());
  info.start_time = absl::FromUnixSeconds(message.start_time().seconds()) +
                    absl::Nanoseconds(message.start_time().nanos());
  info.process_id = message.process_id();
  return absl::OkStatus();
}

absl::Status Decode(v1::GetStatsResponse& message, ServerStats& stats) {
  stats.uptime = ToDuration(message.uptime_duration());
  for (const v1::RpcStats& rpc : message.rpcs()) {
    stats.rpcs.push_back({.method = rpc.method(),
                          .ok_count = rpc.ok_count(),
                          .error_count = rpc.error_count(),
                          .median = ToDuration(rpc.median_duration()),
                          .p99 = ToDuration(rpc.p99_duration())});
  }
  stats.queued_requests = message.queued_request_count();
  stats.running_requests = message.running_request_count();
  stats.queued_bytes = message.queued_bytes();
  stats.launches = message.launch_count();
  stats.launched_requests = message.launched_request_count();
  stats.launched_rows = message.launched_row_count();
  stats.rejected_requests = message.rejected_request_count();
  stats.expired_requests = message.expired_request_count();
  stats.cancelled_requests = message.cancelled_request_count();
  stats.faults = message.fault_count();
  stats.routes = ToRouteCounts(message.routes());
  stats.device_busy = ToDuration(message.device_busy_duration());
  stats.resident_bytes = message.resident_bytes();
  return absl::OkStatus();
}

absl::Status Decode(v1::ListLeasesResponse& message, std::vector<LeaseDescription>& leases) {
  for (const v1::LeaseDescription& lease : message.leases()) {
    leases.push_back({.number = lease.lease_number(),
                      .display_name = lease.display_name(),
                      .peer = lease.peer(),
                      .state = static_cast<LeaseState>(lease.state()),
                      .device = lease.device(),
                      .age = ToDuration(lease.age_duration()),
                      .used_bytes = lease.used_bytes(),
                      .buffers = lease.buffer_count(),
                      .page_tables = lease.page_table_count(),
                      .plans = lease.plan_count(),
                      .inflight_requests = lease.inflight_request_count()});
  }
  return absl::OkStatus();
}

}  // namespace winnow::client
