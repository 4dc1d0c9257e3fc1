#include "server/app/settings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/app/listener.h"
#include "server/app/setting_kinds.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

std::vector<Setting> ListenSettings() {
  return {
      ListSetting({"listen", "ADDRESS",
                   absl::StrCat("unix:PATH, or HOST:PORT on loopback; repeatable. Default ",
                                DefaultListener())},
                  &ServerConfig::listeners),
      ListSetting({"insecure-listen", "HOST:PORT",
                   "serves in the clear on any address, also beyond this host; warned of each "
                   "minute; repeatable"},
                  &ServerConfig::insecure_listeners),
      ListSetting({"admin-listen", "unix:PATH",
                   "socket of this user alone (mode 0600) on which the server may be drained; the "
                   "others then refuse it"},
                  &ServerConfig::admin_listeners),
      ModeSetting({"socket-mode", "MODE", "permissions of Unix listeners. Default 0660"},
                  &ServerConfig::socket_mode),
      TextSetting({"socket-group", "GROUP", "group of Unix listeners, name or number"},
                  &ServerConfig::socket_group),
      ListSetting({"allow-uids", "UIDS",
                   "users, besides the server's own, that Unix listeners accept. Default: all that "
                   "the mode lets in"},
                  &ServerConfig::allowed_uids),
      TextSetting(
          {"backend", "KIND", "auto, cuda or cpu. Default auto: a GPU when a usable one answers"},
          &ServerConfig::backend),
      NumberSetting({"device", "N", "number of the GPU. Default 0"}, &ServerConfig::device),
      NumberSetting(
          {"threads", "N", "worker threads of the CPU backend. Default 0: one per usable core"},
          &ServerConfig::threads),
      NumberSetting({"launch-slots", "N", "batches in flight at once. Default 4"},
                    &ServerConfig::launch_slots),
      NumberSetting(
          {"queues", "N", "polling threads of gRPC. Default 0: one for every four cores, 1 to 4"},
          &ServerConfig::queues),
  };
}

std::vector<Setting> LimitSettings() {
  return {
      SizeSetting({"max-inline-bytes", "SIZE",
                   "inline bytes of a request, inputs and outputs each. Default 64M"},
                  &ServerConfig::max_inline_bytes),
      NumberSetting({"max-queued-requests", "N", "requests that wait at once. Default 4096"},
                    &ServerConfig::max_queued_requests),
      SizeSetting(
          {"max-queued-bytes", "SIZE", "inline bytes of waiting and running requests. Default 1G"},
          &ServerConfig::max_queued_bytes),
      NumberSetting(
          {"max-concurrent-streams", "N", "calls at once on one connection. Default 1024"},
          &ServerConfig::max_concurrent_streams),
      NumberSetting({"max-connections", "N", "connections at once. Default 1024"},
                    &ServerConfig::max_connections),
      NumberSetting({"max-batch-requests", "N", "requests of one launch. Default 256"},
                    &ServerConfig::max_batch_requests),
      NumberSetting({"max-batch-rows", "N", "rows of one launch. Default 8192"},
                    &ServerConfig::max_batch_rows),
      SizeSetting({"max-batch-bytes", "SIZE", "input bytes of one launch. Default 256M"},
                  &ServerConfig::max_batch_bytes),
      SizeSetting({"buffer-pool-bytes", "SIZE", "memory for clients' buffers. Default 1G"},
                  &ServerConfig::buffer_pool_bytes),
      SizeSetting({"staging-pool-bytes", "SIZE",
                   "memory for inline inputs, outputs and workspaces. Default 256M"},
                  &ServerConfig::staging_pool_bytes),
  };
}

std::vector<Setting> LeaseSettings() {
  return {
      NumberSetting({"max-leases", "N", "leases open at once. Default 1024"},
                    &ServerConfig::max_leases),
      SizeSetting(
          {"max-lease-bytes", "SIZE", "memory of one lease. Default 1G, and no more than the pool"},
          &ServerConfig::max_lease_bytes),
      NumberSetting(
          {"max-lease-resources", "N", "buffers, page tables and plans of one lease. Default 4096"},
          &ServerConfig::max_lease_resources),
      NumberSetting(
          {"max-lease-requests", "N", "waiting and running requests of one lease. Default 1024"},
          &ServerConfig::max_lease_requests),
      TimeSetting(
          {"max-resume-grace", "TIME", "longest time a lease may outlive its stream. Default 5m"},
          &ServerConfig::max_resume_grace),
  };
}

std::vector<Setting> OperationSettings() {
  return {
      ListSetting({"http-listen", "ADDRESS",
                   "serves metrics, health and the status page on unix:PATH or HOST:PORT on "
                   "loopback; repeatable. Default: nowhere"},
                  &ServerConfig::http_listeners),
      ListSetting({"insecure-http-listen", "HOST:PORT",
                   "serves metrics and health, no page, in the clear on any address; repeatable"},
                  &ServerConfig::insecure_http_listeners),
      TimeSetting(
          {"slow-request", "TIME", "requests that take longer are logged; 0 logs none. Default 1s"},
          &ServerConfig::slow_request),
      TimeSetting({"drain-timeout", "TIME",
                   "longest time to finish queued work after SIGTERM. Default 30s"},
                  &ServerConfig::drain_timeout),
      LogLevelSetting({"log-level", "LEVEL", "debug, info, warning, error or off. Default info"},
                      &ServerConfig::log_level),
      SwitchSetting(
          {"tcp-admin", "", "lets peers on TCP drain the server. Default: on Unix sockets only"},
          &ServerConfig::tcp_admin),
  };
}

std::vector<Setting> TlsSettings() {
  return {
      TextSetting({"tls-cert", "FILE",
                   "PEM certificate chain; with it TCP listeners speak TLS 1.3 and may be beyond "
                   "loopback"},
                  &ServerConfig::tls_certificate),
      TextSetting({"tls-key", "FILE", "PEM key of the certificate"}, &ServerConfig::tls_key),
      TextSetting({"tls-client-ca", "FILE", "PEM certificates of who signs clients' certificates"},
                  &ServerConfig::tls_client_ca),
      TextSetting({"tls-client-auth", "KIND",
                   "require, or none for clients without certificates. Default require"},
                  &ServerConfig::tls_client_auth),
      ListSetting({"tls-allow-names", "NAMES",
                   "alternative names (DNS, *.DNS or URI) of clients that are accepted. Default: "
                   "all of the authority"},
                  &ServerConfig::tls_allowed_names),
      TimeSetting({"tls-reload", "TIME", "how often the files are looked at. Default 10s"},
                  &ServerConfig::tls_reload),
  };
}

// Edits that turn one word into the other.
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

const std::vector<Setting>& AllSettings() {
  static const auto* settings = [] {
    auto* all = new std::vector<Setting>;
    for (const auto& group :
         {ListenSettings(), TlsSettings(), LimitSettings(), LeaseSettings(), OperationSettings()}) {
      all->insert(all->end(), group.begin(), group.end());
    }
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
  std::string nearest;
  int distance = 4;  // more edits than that are another word
  for (const std::string& name : known) {
    const int edits = EditDistance(typed, name);
    if (edits < distance) {
      nearest = name;
      distance = edits;
    }
  }
  return nearest;
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
