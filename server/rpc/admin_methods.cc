#include "server/rpc/admin_methods.h"

#include <unistd.h>

#include <numeric>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/process_memory.h"
#include "server/rpc/decode_duration.h"
#include "server/rpc/response_encoder.h"
#include "server/rpc/rpc_server.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

static_assert(static_cast<int>(LeaseState::kOpen) == v1::LEASE_STATE_OPEN);
static_assert(static_cast<int>(LeaseState::kWaiting) == v1::LEASE_STATE_WAITING);
static_assert(static_cast<int>(LeaseState::kEnding) == v1::LEASE_STATE_ENDING);

constexpr absl::Duration kDefaultDrainTimeout = absl::Seconds(30);

v1::ServerState StateOf(const RpcEnvironment& environment) {
  switch (environment.state.load(std::memory_order_acquire)) {
    case ServingState::kServing:
      return v1::SERVER_STATE_SERVING;
    case ServingState::kDraining:
      return v1::SERVER_STATE_DRAINING;
    case ServingState::kFailed:
      break;
  }
  return v1::SERVER_STATE_FAILED;
}

void EncodeDevice(const ServedDevice& served, v1::DeviceDescription& device) {
  const DeviceInfo& info = served.backend->info().device;
  device.set_kind(info.kind);
  device.set_name(info.name);
  device.set_ordinal(served.number);
  device.set_multiprocessor_count(info.multiprocessors);
  if (info.capability_major > 0) {
    device.set_compute_capability(absl::StrCat(info.capability_major, ".", info.capability_minor));
  }
  device.set_memory_bytes(info.memory_bytes);
  device.set_max_cluster_size(info.max_cluster_size);
  device.set_pool_width(info.pool_width);
  device.set_pool_note(info.pool_note);
  device.set_instruction_set(info.instruction_set);
  device.set_multi_process_service(info.multi_process_service);
  device.set_shares_memory(served.backend->memory_sharing() != nullptr);
}

void EncodeDevices(const RpcEnvironment& environment, v1::GetServerInfoResponse& response) {
  std::vector<DeviceLoad> loads(environment.devices.size());
  if (environment.ledger != nullptr) loads = environment.ledger->DeviceLoads();
  for (size_t place = 0; place < environment.devices.size(); ++place) {
    v1::DeviceDescription& device = *response.add_devices();
    EncodeDevice(environment.devices[place], device);
    const SchedulerStats stats = environment.devices[place].scheduler->stats();
    v1::DeviceLoad& load = *device.mutable_load();
    load.set_leased_bytes(loads[place].reserved_bytes);
    load.set_max_leased_bytes(environment.devices[place].backend->info().buffer_pool_bytes);
    load.set_lease_count(loads[place].leases);
    load.set_queued_request_count(stats.queued_tasks);
    load.set_running_request_count(stats.running_tasks);
  }
  *response.mutable_device() = response.devices(0);
}

void EncodeLimits(const RpcEnvironment& environment, v1::ServerLimits& limits) {
  limits.set_max_k(kMaxK);
  limits.set_max_row_count(kMaxRows);
  limits.set_max_column_count(kMaxColumns);
  limits.set_max_inline_bytes(environment.limits.max_inline_bytes);
  limits.set_max_step_count(environment.limits.max_steps);
  limits.set_max_queued_request_count(environment.queue_limits.max_queued_tasks);
  limits.set_max_queued_bytes(environment.queue_limits.max_queued_host_bytes);
}

absl::Status GetServerInfo(const RpcEnvironment& environment, v1::GetServerInfoResponse& response) {
  response.set_version(environment.version);
  response.set_state(StateOf(environment));
  response.set_backend_reason(environment.devices[0].backend->info().choice_reason);
  EncodeDevices(environment, response);
  EncodeLimits(environment, *response.mutable_limits());
  for (const std::string& listener : environment.listeners) response.add_listeners(listener);
  const absl::Duration start = environment.start_time - absl::UnixEpoch();
  absl::Duration rest;
  auto& start_time = *response.mutable_start_time();
  start_time.set_seconds(absl::IDivDuration(start, absl::Seconds(1), &rest));
  start_time.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  response.set_process_id(getpid());
  return absl::OkStatus();
}

void EncodeScheduler(const SchedulerStats& stats, v1::GetStatsResponse& response) {
  response.set_queued_request_count(stats.queued_tasks);
  response.set_running_request_count(stats.running_tasks);
  response.set_queued_bytes(stats.queued_host_bytes);
  response.set_launch_count(stats.batches);
  response.set_launched_request_count(stats.batched_tasks);
  response.set_launched_row_count(stats.batched_rows);
  response.set_rejected_request_count(stats.rejected_full);
  response.set_expired_request_count(stats.expired);
  response.set_cancelled_request_count(stats.cancelled);
}

void EncodeBackend(const BackendStats& stats, v1::GetStatsResponse& response) {
  response.set_fault_count(stats.faults);
  EncodeDuration(stats.device_busy, *response.mutable_device_busy_duration());
  auto& routes = *response.mutable_routes();
  const auto rows = [&stats](Route route) { return stats.route_rows[static_cast<int>(route)]; };
  routes.set_identity_row_count(rows(Route::kIdentity));
  routes.set_single_block_row_count(rows(Route::kSingleBlock));
  routes.set_streaming_row_count(rows(Route::kStreaming));
  routes.set_cluster_row_count(rows(Route::kCluster));
  routes.set_split_row_count(rows(Route::kSplit));
}

absl::Status GetStats(const RpcEnvironment& environment, const std::vector<const RpcMeter*>& meters,
                      v1::GetStatsResponse& response) {
  EncodeDuration(environment.clock->Now() - environment.start_time,
                 *response.mutable_uptime_duration());
  for (const RpcMeter* method : meters) {
    v1::RpcStats& stats = *response.add_rpcs();
    stats.set_method(method->name());
    stats.set_ok_count(method->ok_count());
    stats.set_error_count(method->error_count());
    EncodeDuration(method->durations().Quantile(0.5), *stats.mutable_median_duration());
    EncodeDuration(method->durations().Quantile(0.99), *stats.mutable_p99_duration());
  }
  EncodeScheduler(SumOfSchedulers(environment.devices), response);
  EncodeBackend(SumOfBackends(environment.devices), response);
  response.set_resident_bytes(ResidentBytes());
  return absl::OkStatus();
}

absl::Status ProbeOccupancy(const RpcEnvironment& environment,
                            const v1::ProbeOccupancyRequest& request,
                            v1::ProbeOccupancyResponse& response) {
  WINNOW_RETURN_IF_ERROR(CheckServing(environment));
  const int32_t size = request.cluster_size();
  const int32_t blocks = request.blocks_per_multiprocessor();
  if (size < 1 || size > 16 || (size & (size - 1)) != 0) {
    return InvalidField(ErrorReason::kValueOutOfRange, "cluster_size", size,
                        "a power of two from 1 to 16");
  }
  if (blocks < 1 || blocks > 32) {
    return InvalidField(ErrorReason::kValueOutOfRange, "blocks_per_multiprocessor", blocks,
                        "1 to 32");
  }
  const ServedDevice* device = &environment.devices[0];
  if (request.has_device()) {
    WINNOW_ASSIGN_OR_RETURN(device, DeviceOfNumber(environment, request.device()));
  }
  WINNOW_ASSIGN_OR_RETURN(const int32_t clusters, device->backend->ProbeOccupancy(size, blocks));
  response.set_active_cluster_count(clusters);
  return absl::OkStatus();
}

absl::Status CheckMayChange(const RpcEnvironment& environment, const UnaryCall& call) {
  if (!environment.admin_listeners.empty()) {
    if (IsAdminPeer(call.peer())) return absl::OkStatus();
    return MakeError(absl::StatusCode::kPermissionDenied,
                     "only a peer on the administrator's socket may change this server",
                     {.reason = ErrorReason::kPermissionDenied});
  }
  if (environment.tcp_admin || absl::StartsWith(call.peer(), "unix:")) return absl::OkStatus();
  return MakeError(absl::StatusCode::kPermissionDenied,
                   "a peer on tcp may not change this server; call it on its unix socket or "
                   "start it with --tcp-admin",
                   {.reason = ErrorReason::kPermissionDenied});
}

absl::Status Drain(const RpcEnvironment& environment, const UnaryCall& call,
                   const v1::DrainRequest& request, v1::DrainResponse& response) {
  WINNOW_RETURN_IF_ERROR(CheckMayChange(environment, call));
  absl::Duration timeout = kDefaultDrainTimeout;
  if (request.has_timeout_duration()) {
    WINNOW_ASSIGN_OR_RETURN(timeout,
                            DecodeDuration("timeout_duration", request.timeout_duration()));
  }
  const std::vector<int64_t> requests = RequestsInFlight(environment);
  response.set_pending_request_count(std::accumulate(requests.begin(), requests.end(), int64_t{0}));
  environment.begin_drain(timeout);
  return absl::OkStatus();
}

absl::Status ListLeases(const RpcEnvironment& environment, v1::ListLeasesResponse& response) {
  for (const LeaseSummary& summary : environment.ledger->List()) {
    v1::LeaseDescription& lease = *response.add_leases();
    lease.set_lease_number(summary.number);
    lease.set_display_name(summary.options.display_name);
    lease.set_peer(summary.options.peer);
    lease.set_state(static_cast<v1::LeaseState>(summary.state));
    EncodeDuration(summary.age, *lease.mutable_age_duration());
    lease.set_used_bytes(summary.used_bytes);
    lease.set_buffer_count(summary.buffers);
    lease.set_page_table_count(summary.page_tables);
    lease.set_plan_count(summary.plans);
    lease.set_inflight_request_count(summary.inflight);
    lease.set_device(summary.device);
  }
  return absl::OkStatus();
}

absl::Status EndLease(const RpcEnvironment& environment, const UnaryCall& call,
                      const v1::EndLeaseRequest& request) {
  constexpr int64_t kMaxMessageBytes = 256;
  WINNOW_RETURN_IF_ERROR(CheckMayChange(environment, call));
  const auto bytes = static_cast<int64_t>(request.message().size());
  if (bytes > kMaxMessageBytes) {
    return InvalidField(ErrorReason::kValueOutOfRange, "message", bytes,
                        absl::StrCat("up to ", kMaxMessageBytes, " bytes"));
  }
  return environment.ledger->End(request.lease_number(), request.message());
}

template <typename Request, typename Response, typename Answer>
std::unique_ptr<RpcMethod> Immediate(absl::string_view name, RpcMethod::RequestFunction request,
                                     RpcEnvironment& environment, Answer answer) {
  return std::make_unique<ImmediateMethod<Request, Response>>(
      absl::StrCat(v1::AdminService::service_full_name(), "/", name), std::move(request),
      environment, std::move(answer));
}

}  // namespace

std::vector<std::unique_ptr<RpcMethod>> MakeAdminMethods(
    RawAdminService& service, RpcEnvironment& environment,
    const std::vector<const RpcMeter*>& meters) {
  using Raw = RawAdminService;
  std::vector<std::unique_ptr<RpcMethod>> methods;
  methods.push_back(Immediate<v1::GetServerInfoRequest, v1::GetServerInfoResponse>(
      "GetServerInfo", BindRequest(service, &Raw::RequestGetServerInfo), environment,
      [&environment](const UnaryCall&, const auto&, auto& response) {
        return GetServerInfo(environment, response);
      }));
  methods.push_back(Immediate<v1::GetStatsRequest, v1::GetStatsResponse>(
      "GetStats", BindRequest(service, &Raw::RequestGetStats), environment,
      [&environment, &meters](const UnaryCall&, const auto&, auto& response) {
        return GetStats(environment, meters, response);
      }));
  methods.push_back(Immediate<v1::ProbeOccupancyRequest, v1::ProbeOccupancyResponse>(
      "ProbeOccupancy", BindRequest(service, &Raw::RequestProbeOccupancy), environment,
      [&environment](const UnaryCall&, const auto& request, auto& response) {
        return ProbeOccupancy(environment, request, response);
      }));
  methods.push_back(Immediate<v1::DrainRequest, v1::DrainResponse>(
      "Drain", BindRequest(service, &Raw::RequestDrain), environment,
      [&environment](const UnaryCall& call, const auto& request, auto& response) {
        return Drain(environment, call, request, response);
      }));
  methods.push_back(Immediate<v1::ListLeasesRequest, v1::ListLeasesResponse>(
      "ListLeases", BindRequest(service, &Raw::RequestListLeases), environment,
      [&environment](const UnaryCall&, const auto&, auto& response) {
        return ListLeases(environment, response);
      }));
  methods.push_back(Immediate<v1::EndLeaseRequest, v1::EndLeaseResponse>(
      "EndLease", BindRequest(service, &Raw::RequestEndLease), environment,
      [&environment](const UnaryCall& call, const auto& request, auto&) {
        return EndLease(environment, call, request);
      }));
  return methods;
}

}  // namespace winnow::server
