// The data of the status page; pages.h describes it.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/app/pages.h"
#include "server/base/process_memory.h"

namespace winnow::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxLeases = 100;

absl::string_view StateName(ServingState state) {
  switch (state) {
    case ServingState::kServing:
      return "serving";
    case ServingState::kDraining:
      return "draining";
    case ServingState::kFailed:
      break;
  }
  return "failed";
}

absl::string_view StateName(LeaseState state) {
  switch (state) {
    case LeaseState::kOpen:
      return "open";
    case LeaseState::kWaiting:
      return "waiting";
    case LeaseState::kEnding:
      break;
  }
  return "ending";
}

Json Devices(const RpcEnvironment& environment) {
  const std::vector<DeviceLoad> loads = environment.ledger->DeviceLoads();
  Json devices = Json::array();
  for (size_t place = 0; place < environment.devices.size(); ++place) {
    const ServedDevice& device = environment.devices[place];
    const BackendInfo& info = device.backend->info();
    const SchedulerStats stats = device.scheduler->stats();
    devices.push_back({{"number", device.number},
                       {"kind", info.device.kind},
                       {"name", info.device.name},
                       {"why", info.choice_reason},
                       {"multiprocessors", info.device.multiprocessors},
                       {"memory_bytes", info.device.memory_bytes},
                       {"instruction_set", info.device.instruction_set},
                       {"buffer_pool_bytes", info.buffer_pool_bytes},
                       {"staging_pool_bytes", info.staging_pool_bytes},
                       {"leased_bytes", loads[place].reserved_bytes},
                       {"leases", loads[place].leases},
                       {"queued", stats.queued_tasks},
                       {"running", stats.running_tasks}});
  }
  return devices;
}

Json Leases(const LeaseLedger& ledger) {
  Json leases = Json::array();
  for (const LeaseSummary& lease : ledger.List()) {
    if (leases.size() == kMaxLeases) break;
    leases.push_back({{"number", lease.number},
                      {"name", lease.options.display_name},
                      {"peer", lease.options.peer},
                      {"state", StateName(lease.state)},
                      {"device", lease.device},
                      {"age_seconds", absl::ToDoubleSeconds(lease.age)},
                      {"bytes", lease.used_bytes},
                      {"buffers", lease.buffers},
                      {"page_tables", lease.page_tables},
                      {"plans", lease.plans},
                      {"in_flight", lease.inflight}});
  }
  return leases;
}

Json Failures(const ErrorJournal* journal, absl::Time now) {
  Json failures = Json::array();
  if (journal == nullptr) return failures;
  for (const FailureRecord& record : journal->Latest()) {
    failures.push_back({{"seconds_ago", std::max(0.0, absl::ToDoubleSeconds(now - record.time))},
                        {"method", record.method},
                        {"code", record.code},
                        {"reason", record.reason},
                        {"message", record.message},
                        {"repeats", record.repeats}});
  }
  return failures;
}

}  // namespace

std::string StatusJson(const RpcEnvironment& environment) {
  const absl::Time now = environment.clock->Now();
  Json status = {{"version", environment.version},
                 {"state", StateName(environment.state.load(std::memory_order_acquire))},
                 {"uptime_seconds", absl::ToDoubleSeconds(now - environment.start_time)},
                 {"listeners", environment.listeners},
                 {"devices", Devices(environment)},
                 {"limits",
                  {{"queued_requests", environment.queue_limits.max_queued_tasks},
                   {"queued_bytes", environment.queue_limits.max_queued_host_bytes},
                   {"leases", environment.ledger->options().max_leases},
                   {"lease_bytes", environment.ledger->options().max_lease_bytes}}},
                 {"resident_bytes", ResidentBytes()},
                 {"leases", Leases(*environment.ledger)},
                 {"failures", Failures(environment.journal, now)}};
  // Names come from clients: bytes that are no UTF-8 are replaced.
  return status.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace winnow::server
