#include "server/app/server_metrics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/base/process_memory.h"

namespace winnow::server {
namespace {

constexpr auto kCounter = MetricsRegistry::CallbackKind::kCounter;
constexpr auto kGauge = MetricsRegistry::CallbackKind::kGauge;
// Leases with series of their own: those that use the most memory.
constexpr size_t kMaxLeaseSeries = 64;

// The labels of a series that each device has.
MetricLabels OfDevice(const ServedDevice& device, MetricLabels labels = {}) {
  labels.insert(labels.begin(), {"device", absl::StrCat(device.number)});
  return labels;
}

void AddQueue(const ServedDevice& device, MetricsRegistry& metrics) {
  const Scheduler& scheduler = *device.scheduler;
  const auto add = [&](MetricsRegistry::CallbackKind kind, const char* name, const char* help,
                       int64_t SchedulerStats::*member, MetricLabels labels = {}) {
    labels = OfDevice(device, std::move(labels));
    metrics.AddCallback(kind, name, help, std::move(labels), [&scheduler, member] {
      return static_cast<double>(scheduler.stats().*member);
    });
  };
  add(kGauge, "winnow_queue_requests", "Requests that wait.", &SchedulerStats::queued_tasks);
  add(kGauge, "winnow_running_requests", "Requests that run.", &SchedulerStats::running_tasks);
  add(kGauge, "winnow_queue_bytes", "Inline bytes of waiting and running requests.",
      &SchedulerStats::queued_host_bytes);
  add(kCounter, "winnow_launches_total", "Launches.", &SchedulerStats::batches);
  add(kCounter, "winnow_launched_requests_total", "Requests in launches.",
      &SchedulerStats::batched_tasks);
  add(kCounter, "winnow_launched_rows_total", "Rows in launches.", &SchedulerStats::batched_rows);
  constexpr char kDropped[] = "winnow_dropped_requests_total";
  constexpr char kDroppedHelp[] = "Requests that never ran, by why.";
  add(kCounter, kDropped, kDroppedHelp, &SchedulerStats::rejected_full, {{"why", "queue_full"}});
  add(kCounter, kDropped, kDroppedHelp, &SchedulerStats::expired, {{"why", "expired"}});
  add(kCounter, kDropped, kDroppedHelp, &SchedulerStats::cancelled, {{"why", "cancelled"}});
}

void AddRoutes(const ServedDevice& device, MetricsRegistry& metrics) {
  const Backend& backend = *device.backend;
  const std::pair<Route, const char*> routes[] = {{Route::kIdentity, "identity"},
                                                  {Route::kSingleBlock, "single_block"},
                                                  {Route::kStreaming, "streaming"},
                                                  {Route::kCluster, "cluster"},
                                                  {Route::kSplit, "split"}};
  for (const auto& [route, name] : routes) {
    metrics.AddCallback(
        kCounter, "winnow_rows_total", "Rows of top-k by route.",
        OfDevice(device, {{"route", name}}), [&backend, route = route] {
          return static_cast<double>(backend.stats().route_rows[static_cast<int>(route)]);
        });
  }
}

void AddDevice(const ServedDevice& device, MetricsRegistry& metrics) {
  const Backend& backend = *device.backend;
  const BackendInfo& info = backend.info();
  AddRoutes(device, metrics);
  metrics.AddCallback(kCounter, "winnow_faults_total",
                      "Requests that failed on data found bad on the device.", OfDevice(device),
                      [&backend] { return static_cast<double>(backend.stats().faults); });
  metrics.AddCallback(
      kCounter, "winnow_device_busy_seconds_total",
      "Time in which the device worked for this server; its rate is the share of the device.",
      OfDevice(device), [&backend] { return absl::ToDoubleSeconds(backend.stats().device_busy); });
  constexpr char kUsed[] = "winnow_pool_used_bytes";
  constexpr char kUsedHelp[] = "Memory of a pool in use.";
  metrics.AddCallback(kGauge, kUsed, kUsedHelp, OfDevice(device, {{"pool", "buffer"}}), [&backend] {
    return static_cast<double>(backend.stats().buffer_used_bytes);
  });
  metrics.AddCallback(
      kGauge, kUsed, kUsedHelp, OfDevice(device, {{"pool", "staging"}}),
      [&backend] { return static_cast<double>(backend.stats().staging_used_bytes); });
  constexpr char kSize[] = "winnow_pool_size_bytes";
  constexpr char kSizeHelp[] = "Memory of a pool.";
  metrics.AddGauge(kSize, kSizeHelp, OfDevice(device, {{"pool", "buffer"}}))
      ->Set(info.buffer_pool_bytes);
  metrics.AddGauge(kSize, kSizeHelp, OfDevice(device, {{"pool", "staging"}}))
      ->Set(info.staging_pool_bytes);
}

std::vector<MetricsRegistry::Sample> OfDevices(const LeaseLedger& ledger,
                                               int64_t DeviceLoad::*member) {
  const std::vector<DeviceLoad> loads = ledger.DeviceLoads();
  std::vector<MetricsRegistry::Sample> samples;
  for (size_t place = 0; place < loads.size(); ++place) {
    samples.push_back({{{"device", absl::StrCat(ledger.options().devices[place].number)}},
                       static_cast<double>(loads[place].*member)});
  }
  return samples;
}

std::vector<MetricsRegistry::Sample> LeaseBytes(const LeaseLedger& ledger) {
  std::vector<LeaseSummary> leases = ledger.List();
  std::stable_sort(leases.begin(), leases.end(),
                   [](const auto& a, const auto& b) { return a.used_bytes > b.used_bytes; });
  if (leases.size() > kMaxLeaseSeries) leases.resize(kMaxLeaseSeries);
  std::vector<MetricsRegistry::Sample> samples;
  for (const LeaseSummary& lease : leases) {
    samples.push_back({{{"device", absl::StrCat(lease.device)},
                        {"lease", absl::StrCat(lease.number)},
                        {"name", lease.options.display_name}},
                       static_cast<double>(lease.used_bytes)});
  }
  return samples;
}

std::vector<MetricsRegistry::Sample> ResourceCounts(const LeaseLedger& ledger) {
  int64_t buffers = 0, page_tables = 0, plans = 0;
  for (const LeaseSummary& lease : ledger.List()) {
    buffers += lease.buffers;
    page_tables += lease.page_tables;
    plans += lease.plans;
  }
  return {{{{"kind", "buffer"}}, static_cast<double>(buffers)},
          {{{"kind", "page_table"}}, static_cast<double>(page_tables)},
          {{{"kind", "plan"}}, static_cast<double>(plans)}};
}

void AddLeases(const LeaseLedger& ledger, MetricsRegistry& metrics) {
  const auto add = [&](const char* name, const char* help, int64_t DeviceLoad::*member) {
    metrics.AddCollector(kGauge, name, help,
                         [&ledger, member] { return OfDevices(ledger, member); });
  };
  add("winnow_leases", "Open leases.", &DeviceLoad::leases);
  add("winnow_leased_bytes", "Memory of all leases.", &DeviceLoad::reserved_bytes);
  metrics.AddCollector(kGauge, "winnow_lease_bytes", "Memory of the 64 largest leases.",
                       [&ledger] { return LeaseBytes(ledger); });
  metrics.AddCollector(kGauge, "winnow_resources", "Resources of all leases by kind.",
                       [&ledger] { return ResourceCounts(ledger); });
}

}  // namespace

void RegisterServerMetrics(const RpcEnvironment& environment, MetricsRegistry& metrics) {
  metrics
      .AddGauge("winnow_build_info", "Always 1; says what runs.",
                {{"version", environment.version},
                 {"backend", environment.devices[0].backend->info().device.kind}})
      ->Set(1);
  metrics.AddCallback(
      kGauge, "winnow_serving", "1 while the server accepts work.", {},
      [&environment] { return environment.state == ServingState::kServing ? 1.0 : 0.0; });
  for (const ServedDevice& device : environment.devices) {
    AddQueue(device, metrics);
    AddDevice(device, metrics);
  }
  AddLeases(*environment.ledger, metrics);
  metrics.AddGauge("winnow_start_time_seconds", "When the server started, in Unix time.")
      ->Set(absl::ToUnixSeconds(environment.start_time));
  metrics.AddCallback(kGauge, "winnow_resident_memory_bytes", "Resident memory of the process.", {},
                      [] { return static_cast<double>(ResidentBytes()); });
}

}  // namespace winnow::server
