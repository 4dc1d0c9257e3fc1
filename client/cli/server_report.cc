#include "client/cli/server_report.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

namespace winnow::cli {
namespace {

std::string DeviceText(const client::DeviceDescription& device) {
  std::string text = absl::StrCat(device.kind, ", ", device.name);
  if (!device.compute_capability.empty()) {
    absl::StrAppend(&text, ", compute capability ", device.compute_capability);
  }
  if (!device.instruction_set.empty()) absl::StrAppend(&text, ", ", device.instruction_set);
  absl::StrAppend(
      &text, ", ",
      Counted(device.multiprocessors, device.kind == "cpu" ? "worker thread" : "multiprocessor"),
      ", ", ShownBytes(device.memory_bytes));
  return text;
}

std::string LimitsText(const client::ServerLimits& limits) {
  return absl::StrCat("k ", Grouped(limits.max_k), ", rows ", Grouped(limits.max_rows),
                      ", columns ", Grouped(limits.max_columns), ", inline ",
                      ShownBytes(limits.max_inline_bytes), ", steps ", limits.max_steps, ", queue ",
                      Counted(limits.max_queued_requests, "request"), " and ",
                      ShownBytes(limits.max_queued_bytes));
}

void AppendLine(std::string& text, absl::string_view name, absl::string_view value) {
  if (!value.empty()) absl::StrAppendFormat(&text, "%-10s%s\n", name, value);
}

std::string WorkText(const client::ServerStats& stats) {
  return absl::StrCat(Counted(stats.launched_requests, "request"), " and ",
                      Counted(stats.launched_rows, "row"), " in ", Grouped(stats.launches),
                      " launch", stats.launches == 1 ? "" : "es", ", device busy ",
                      Shown(stats.device_busy));
}

// "TopK" of "winnow.v1.IndexerService/TopK".
std::string ShortName(const std::string& method) {
  return method.substr(method.rfind('/') + 1);  // npos + 1 is 0
}

// Of times that the server counts in buckets.
std::string About(absl::Duration duration) { return absl::StrCat("about ", Shown(duration)); }

// Calls that nobody made are left out.
void AppendRpcs(std::string& text, const std::vector<client::RpcStats>& rpcs) {
  std::string lines;
  for (const client::RpcStats& rpc : rpcs) {
    if (rpc.ok_count + rpc.error_count == 0) continue;
    absl::StrAppendFormat(&lines, "%-22s %12s %10s %15s %15s\n", ShortName(rpc.method),
                          Grouped(rpc.ok_count), Grouped(rpc.error_count), About(rpc.median),
                          About(rpc.p99));
  }
  if (lines.empty()) return;
  absl::StrAppendFormat(&text, "\n%-22s %12s %10s %15s %15s\n%s", "call", "ok", "failed", "median",
                        "99 in 100", lines);
}

std::string MpsText(const client::DeviceDescription& device) {
  if (device.multi_process_service)
    return "other processes on the GPU at the same time (MPS is on)";
  return "other processes on the GPU in turns: start MPS, or calls wait for their time slices";
}

std::string LoadText(const client::DeviceLoad& load) {
  return absl::StrCat(Counted(load.leases, "lease"), " with ", ShownBytes(load.leased_bytes),
                      " of ", ShownBytes(load.max_leased_bytes), ", ", load.queued_requests,
                      " waiting, ", load.running_requests, " running");
}

std::string PoolText(const client::DeviceDescription& device) {
  return absl::StrCat("width ", device.pool_width, device.pool_note.empty() ? "" : "; ",
                      device.pool_note);
}

std::string InfoText(const std::string& target, const client::ServerInfo& info,
                     const client::ServerStats& stats) {
  std::string text;
  AppendLine(text, "server",
             absl::StrCat("winnow-server ", info.version, ", ", Name(info.state), ", process ",
                          info.process_id, ", up ", ShownAge(stats.uptime)));
  AppendLine(text, "target", target);
  AppendLine(text, "listens", absl::StrJoin(info.listeners, ", "));
  for (const client::DeviceDescription& device : info.devices) {
    const bool one = info.devices.size() == 1;
    AppendLine(text, one ? "device" : absl::StrCat("device ", device.ordinal), DeviceText(device));
    AppendLine(text, "leases", LoadText(device.load));
    AppendLine(text, "pool", PoolText(device));
  }
  AppendLine(text, "chosen", info.backend_reason);
  if (info.device.kind == "cuda") AppendLine(text, "beside", MpsText(info.device));
  AppendLine(text, "limits", LimitsText(info.limits));
  AppendLine(text, "now",
             absl::StrCat(stats.queued_requests, " waiting, ", stats.running_requests, " running, ",
                          ShownBytes(stats.resident_bytes), " resident"));
  AppendLine(text, "work", WorkText(stats));
  AppendLine(text, "routes", absl::StrCat("rows: ", Shown(stats.routes)));
  AppendLine(
      text, "refused",
      absl::StrCat(stats.rejected_requests, " queue full, ", stats.expired_requests, " expired, ",
                   stats.cancelled_requests, " cancelled, ", stats.faults, " with wrong input"));
  AppendRpcs(text, stats.rpcs);
  return text;
}

Json LimitsJson(const client::ServerLimits& limits) {
  return {{"max_k", limits.max_k},
          {"max_rows", limits.max_rows},
          {"max_columns", limits.max_columns},
          {"max_inline_bytes", limits.max_inline_bytes},
          {"max_steps", limits.max_steps},
          {"max_queued_requests", limits.max_queued_requests},
          {"max_queued_bytes", limits.max_queued_bytes}};
}

Json DeviceJson(const client::DeviceDescription& device) {
  return {{"kind", device.kind},
          {"name", device.name},
          {"ordinal", device.ordinal},
          {"multiprocessors", device.multiprocessors},
          {"compute_capability", device.compute_capability},
          {"instruction_set", device.instruction_set},
          {"memory_bytes", device.memory_bytes},
          {"max_cluster_size", device.max_cluster_size},
          {"pool_width", device.pool_width},
          {"pool_note", device.pool_note},
          {"multi_process_service", device.multi_process_service},
          {"shares_memory", device.shares_memory},
          {"load",
           {{"leased_bytes", device.load.leased_bytes},
            {"max_leased_bytes", device.load.max_leased_bytes},
            {"leases", device.load.leases},
            {"queued_requests", device.load.queued_requests},
            {"running_requests", device.load.running_requests}}}};
}

Json DevicesJson(const std::vector<client::DeviceDescription>& devices) {
  Json list = Json::array();
  for (const client::DeviceDescription& device : devices) list.push_back(DeviceJson(device));
  return list;
}

Json StatsJson(const client::ServerStats& stats) {
  Json rpcs = Json::array();
  for (const client::RpcStats& rpc : stats.rpcs) {
    rpcs.push_back({{"method", rpc.method},
                    {"ok_count", rpc.ok_count},
                    {"error_count", rpc.error_count},
                    {"median_us", absl::ToDoubleMicroseconds(rpc.median)},
                    {"p99_us", absl::ToDoubleMicroseconds(rpc.p99)}});
  }
  return {{"uptime_s", absl::ToDoubleSeconds(stats.uptime)},
          {"queued_requests", stats.queued_requests},
          {"running_requests", stats.running_requests},
          {"queued_bytes", stats.queued_bytes},
          {"launches", stats.launches},
          {"launched_requests", stats.launched_requests},
          {"launched_rows", stats.launched_rows},
          {"rejected_requests", stats.rejected_requests},
          {"expired_requests", stats.expired_requests},
          {"cancelled_requests", stats.cancelled_requests},
          {"faults", stats.faults},
          {"routes", JsonOf(stats.routes)},
          {"device_busy_us", absl::ToDoubleMicroseconds(stats.device_busy)},
          {"resident_bytes", stats.resident_bytes},
          {"rpcs", std::move(rpcs)}};
}

}  // namespace

Report InfoReport(const std::string& target, const client::ServerInfo& info,
                  const client::ServerStats& stats) {
  return {.text = InfoText(target, info, stats),
          .json = {{"command", "info"},
                   {"target", target},
                   {"version", info.version},
                   {"state", std::string(Name(info.state))},
                   {"process_id", info.process_id},
                   {"start_time", absl::FormatTime(info.start_time, absl::UTCTimeZone())},
                   {"listeners", info.listeners},
                   {"backend_reason", info.backend_reason},
                   {"device", DeviceJson(info.device)},
                   {"devices", DevicesJson(info.devices)},
                   {"limits", LimitsJson(info.limits)},
                   {"stats", StatsJson(stats)}}};
}

}  // namespace winnow::cli
