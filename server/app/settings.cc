#include "server/app/settings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/app/listener.h"
#include "server/app/setting_kinds.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

std::vector<Setting> ListenSettings() {
  return {
      ListSetting({"listen", "ADDRESS",
                   "unix:PATH, or HOST:PORT on loopback (with --tls-cert on any address); "
                   "repeatable",
                   DefaultListener()},
                  &ServerConfig::listeners),
      ListSetting({"insecure-listen", "HOST:PORT",
                   "serves in the clear on any address, also beyond this host; warned of each "
                   "minute; repeatable"},
                  &ServerConfig::insecure_listeners),
      ListSetting({"admin-listen", "unix:PATH",
                   "socket of this user alone (mode 0600) on which the server may be drained and "
                   "leases ended; the others then refuse it; repeatable",
                   "none: every Unix listener is one"},
                  &ServerConfig::admin_listeners),
      ListSetting({"http-listen", "ADDRESS",
                   "serves metrics, health and the status page on unix:PATH, or HOST:PORT on "
                   "loopback; repeatable"},
                  &ServerConfig::http_listeners),
      ListSetting({"insecure-http-listen", "HOST:PORT",
                   "serves metrics and health, no page, in the clear on any address; repeatable"},
                  &ServerConfig::insecure_http_listeners),
  };
}

std::vector<Setting> AccessSettings() {
  return {
      ModeSetting({"socket-mode", "MODE", "permissions of the Unix sockets of --listen, octal"},
                  &ServerConfig::socket_mode),
      TextSetting({"socket-group", "GROUP", "group of the Unix sockets of --listen, name or number",
                   "the one of the process"},
                  &ServerConfig::socket_group),
      ListSetting({"allow-uids", "UIDS",
                   "numbers of the users, besides the server's own, that Unix listeners accept",
                   "all that --socket-mode lets in"},
                  &ServerConfig::allowed_uids),
      SwitchSetting({"tcp-admin", "", "lets peers on TCP drain the server and end leases"},
                    &ServerConfig::tcp_admin),
      TextSetting({"tls-cert", "FILE",
                   "PEM certificate chain; with it TCP listeners speak TLS 1.3 and may be beyond "
                   "loopback"},
                  &ServerConfig::tls_certificate),
      TextSetting({"tls-key", "FILE", "PEM private key of that certificate"},
                  &ServerConfig::tls_key),
      TextSetting({"tls-client-ca", "FILE", "PEM certificates of who signs clients' certificates"},
                  &ServerConfig::tls_client_ca),
      TextSetting({"tls-client-auth", "KIND", "require, or none for clients without certificates"},
                  &ServerConfig::tls_client_auth),
      ListSetting({"tls-allow-names", "NAMES",
                   "alternative names (DNS, *.DNS or URI) of clients that are accepted",
                   "all that --tls-client-ca signed"},
                  &ServerConfig::tls_allowed_names),
      TimeSetting({"tls-reload", "TIME", "how often the files are looked at for new contents"},
                  &ServerConfig::tls_reload),
  };
}

std::vector<Setting> DeviceSettings() {
  return {
      TextSetting({"backend", "KIND",
                   "auto, cuda or cpu; auto takes a GPU when a usable one answers, else the CPU"},
                  &ServerConfig::backend),
      NumberSetting({"device", "N", "number of the GPU among those that the process sees"},
                    &ServerConfig::device),
      ListSetting({"devices", "NUMBERS",
                   "numbers of several devices, or all; a lease names one or takes the least "
                   "loaded. With --backend=cpu so many devices that share the cores",
                   "the one of --device"},
                  &ServerConfig::devices),
      NumberSetting(
          {"threads", "N",
           "worker threads of the CPU backend, of each device; 0: one per usable core in all"},
          &ServerConfig::threads),
      NumberSetting({"launch-slots", "N", "batches in flight at once on a device"},
                    &ServerConfig::launch_slots),
      NumberSetting({"queues", "N", "polling threads of gRPC; 0: one for every four cores, 1 to 4"},
                    &ServerConfig::queues),
  };
}

std::vector<Setting> LimitSettings() {
  return {
      SizeSetting({"max-inline-bytes", "SIZE",
                   "inline bytes of one request, of its inputs and of its outputs"},
                  &ServerConfig::max_inline_bytes),
      NumberSetting({"max-queued-requests", "N", "requests that wait at once for a device"},
                    &ServerConfig::max_queued_requests),
      SizeSetting(
          {"max-queued-bytes", "SIZE", "inline bytes of waiting and running requests of a device"},
          &ServerConfig::max_queued_bytes),
      NumberSetting({"max-connections", "N", "connections at once"},
                    &ServerConfig::max_connections),
      NumberSetting({"max-concurrent-streams", "N", "calls at once on one connection"},
                    &ServerConfig::max_concurrent_streams),
      NumberSetting({"max-batch-requests", "N", "requests of one launch"},
                    &ServerConfig::max_batch_requests),
      NumberSetting({"max-batch-rows", "N", "rows of one launch"}, &ServerConfig::max_batch_rows),
      SizeSetting({"max-batch-bytes", "SIZE", "input bytes of one launch"},
                  &ServerConfig::max_batch_bytes),
  };
}

std::vector<Setting> MemorySettings() {
  return {
      SizeSetting({"buffer-pool-bytes", "SIZE", "memory of each device for the buffers of clients"},
                  &ServerConfig::buffer_pool_bytes),
      SizeSetting({"staging-pool-bytes", "SIZE",
                   "memory of each device for inline inputs, outputs and workspaces of running "
                   "requests"},
                  &ServerConfig::staging_pool_bytes),
  };
}

std::vector<Setting> LeaseSettings() {
  return {
      NumberSetting({"max-leases", "N", "leases open at once"}, &ServerConfig::max_leases),
      SizeSetting({"max-lease-bytes", "SIZE",
                   "memory of one lease, and no more than the pool of its device"},
                  &ServerConfig::max_lease_bytes),
      NumberSetting({"max-lease-resources", "N", "buffers, page tables and plans of one lease"},
                    &ServerConfig::max_lease_resources),
      NumberSetting({"max-lease-requests", "N", "waiting and running requests of one lease"},
                    &ServerConfig::max_lease_requests),
      TimeSetting({"max-resume-grace", "TIME", "longest time a lease may outlive its stream"},
                  &ServerConfig::max_resume_grace),
  };
}

std::vector<Setting> OperationSettings() {
  return {
      LogLevelSetting({"log-level", "LEVEL", "debug, info, warning, error or off"},
                      &ServerConfig::log_level),
      TimeSetting({"slow-request", "TIME", "requests that take longer are logged; 0s logs none"},
                  &ServerConfig::slow_request),
      TimeSetting({"drain-timeout", "TIME", "longest time to finish queued work after SIGTERM"},
                  &ServerConfig::drain_timeout),
  };
}

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  // rows[i][j] is the distance of the first i letters of a and the first j of b.
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      size_t& least = rows[i][j];
      least = std::max(i, j);
      if (i == 0 || j == 0) continue;
      least = std::min({rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), rows[i - 1][j] + 1,
                        rows[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        least = std::min(least, rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

const std::vector<Setting>& AllSettings() {
  static const auto* settings = [] {
    auto* all = new std::vector<Setting>;
    const auto add = [all](absl::string_view group, std::vector<Setting> settings) {
      for (Setting& setting : settings) {
        setting.group = std::string(group);
        all->push_back(std::move(setting));
      }
    };
    add("Where it listens", ListenSettings());
    add("Who may use it", AccessSettings());
    add("Device and threads", DeviceSettings());
    add("Limits of requests", LimitSettings());
    add("Memory, taken at the start", MemorySettings());
    add("Limits of leases", LeaseSettings());
    add("Logs and shutdown", OperationSettings());
    return all;
  }();
  return *settings;
}

const Setting* FindSetting(absl::string_view name) {
  for (const Setting& setting : AllSettings()) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

std::string NearestName(absl::string_view typed, const std::vector<std::string>& known) {
  constexpr size_t kLongestName = 64;  // nothing longer is a slip of the finger
  constexpr size_t kMostEdits = 3;     // more than that are another word, however long it is
  if (typed.size() < 2 || typed.size() > kLongestName) return "";
  const std::string* nearest = nullptr;
  size_t fewest = 0;
  for (const std::string& name : known) {
    const size_t edits = EditDistance(typed, name);
    const bool is_near = edits <= kMostEdits && edits * 3 <= name.size();
    if (!is_near && !absl::StartsWith(name, typed)) continue;
    if (nearest != nullptr && edits >= fewest) continue;
    nearest = &name;
    fewest = edits;
  }
  return nearest == nullptr ? "" : *nearest;
}

absl::Status ApplySetting(const Setting& setting, absl::string_view source, absl::string_view value,
                          ServerConfig& config) {
  const std::string expected = setting.set(config, value);
  if (expected.empty()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat(source, " is \"", value, "\"; it takes ", expected),
                   {.reason = ErrorReason::kValueOutOfRange,
                    .field = absl::StrCat("--", setting.name),
                    .value = std::string(value),
                    .limit = expected});
}

}  // namespace winnow::server
