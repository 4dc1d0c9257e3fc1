#include "server/app/server_config.h"

#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/app/listener.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/plain_number.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

struct Range {
  absl::string_view flag;
  int64_t value;
  int64_t low;
  int64_t high;
};

absl::Status BadSetting(absl::string_view flag, const std::string& value, absl::string_view takes) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat(flag, " is \"", value, "\"; it takes ", takes),
                   {.reason = ErrorReason::kValueOutOfRange,
                    .field = std::string(flag),
                    .value = value,
                    .limit = std::string(takes)});
}

absl::Status Check(const Range& range) {
  if (range.value >= range.low && range.value <= range.high) return absl::OkStatus();
  return InvalidField(ErrorReason::kValueOutOfRange, range.flag, range.value,
                      absl::StrCat(range.low, " to ", range.high));
}

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kTiB = int64_t{1} << 40;
// A message is at most 2 GiB on the wire, and a request holds inputs with gaps and what surrounds
// them.
constexpr int64_t kMaxInlineBytes = 1000 * kMiB;

// Addresses that flags have named so far, with the flag.
using NamedAddresses = std::map<std::string, std::string>;

absl::Status CheckListeners(const std::vector<std::string>& listeners, const ListenerRule& rule,
                            NamedAddresses& named) {
  for (const std::string& listener : listeners) {
    WINNOW_ASSIGN_OR_RETURN(const Listener parsed, ParseListener(listener, rule));
    if (rule.flag == AdminListenerRule().flag && parsed.socket_path.empty()) {
      return BadSetting("--admin-listen", listener, "unix:PATH");
    }
    if (absl::EndsWith(parsed.address, ":0")) continue;  // a free port each
    const auto [first, is_new] = named.emplace(parsed.address, parsed.flag);
    if (is_new) continue;
    return BadSetting(parsed.flag, listener,
                      absl::StrCat("an address of its own; ", first->second, " names it already"));
  }
  return absl::OkStatus();
}

absl::Status CheckAllListeners(const ServerConfig& config) {
  NamedAddresses named;
  WINNOW_RETURN_IF_ERROR(CheckListeners(config.listeners, MainListenerRule(config), named));
  WINNOW_RETURN_IF_ERROR(CheckListeners(config.insecure_listeners, InsecureListenerRule(), named));
  WINNOW_RETURN_IF_ERROR(CheckListeners(config.admin_listeners, AdminListenerRule(), named));
  WINNOW_RETURN_IF_ERROR(CheckListeners(config.http_listeners, HttpListenerRule(), named));
  return CheckListeners(config.insecure_http_listeners, ExposedHttpListenerRule(), named);
}

absl::Status CheckTlsFiles(const ServerConfig& config) {
  const auto missing = [](absl::string_view given, absl::string_view flag, absl::string_view what) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat(given, " needs ", flag, ", ", what),
                     {.reason = ErrorReason::kFieldMissing, .field = std::string(flag)});
  };
  if (config.tls_certificate.empty() && !config.tls_key.empty()) {
    return missing("--tls-key", "--tls-cert", "the PEM file with the certificate of that key");
  }
  if (!config.tls_certificate.empty() && config.tls_key.empty()) {
    return missing("--tls-cert", "--tls-key", "the PEM file with the certificate's private key");
  }
  if (config.has_tls() && config.tls_client_auth == "require" && config.tls_client_ca.empty()) {
    return missing("--tls-cert", "--tls-client-ca",
                   "the PEM file of who signs clients' certificates; or give "
                   "--tls-client-auth=none to serve clients without one");
  }
  return absl::OkStatus();
}

absl::Status CheckAccess(const ServerConfig& config) {
  for (const std::string& uid : config.allowed_uids) {
    uint32_t number = 0;
    if (!ParsePlainNumber(uid, number))
      return BadSetting("--allow-uids", uid, "numbers of users, as 'id -u NAME' shows them");
  }
  if (config.tls_client_auth != "require" && config.tls_client_auth != "none") {
    return BadSetting("--tls-client-auth", config.tls_client_auth, "require or none");
  }
  WINNOW_RETURN_IF_ERROR(CheckTlsFiles(config));
  const bool mutual = config.has_tls() && config.tls_client_auth == "require";
  if (!mutual && !config.tls_allowed_names.empty()) {
    return BadSetting("--tls-allow-names", config.tls_allowed_names[0],
                      "names beside --tls-client-auth=require and --tls-cert, and only then");
  }
  return absl::OkStatus();
}

constexpr int32_t kMaxDeviceNumber = 1023;
constexpr size_t kMaxDevices = 64;

absl::Status CheckDevices(const ServerConfig& config) {
  const std::vector<std::string>& devices = config.devices;
  if (devices.empty() || (devices.size() == 1 && devices[0] == "all")) return absl::OkStatus();
  std::set<int32_t> numbers;
  for (const std::string& text : devices) {
    int32_t number = 0;
    if (!ParsePlainNumber(text, number) || number < 0 || number > kMaxDeviceNumber) {
      return BadSetting(
          "--devices", text,
          absl::StrCat("numbers from 0 to ", kMaxDeviceNumber, ", or the word all alone"));
    }
    if (numbers.insert(number).second) continue;
    return MakeError(absl::StatusCode::kInvalidArgument,
                     absl::StrCat("--devices names ", number, " more than once (",
                                  absl::StrJoin(devices, ","), "); it takes each number once"),
                     {.reason = ErrorReason::kValueOutOfRange,
                      .field = "--devices",
                      .value = absl::StrJoin(devices, ","),
                      .limit = "each number once"});
  }
  if (numbers.size() <= kMaxDevices) return absl::OkStatus();
  return InvalidField(ErrorReason::kValueOutOfRange, "--devices",
                      static_cast<int64_t>(numbers.size()),
                      absl::StrCat("up to ", kMaxDevices, " of them"));
}

absl::Status CheckDeviceSettings(const ServerConfig& config) {
  if (config.backend != "auto" && config.backend != "cuda" && config.backend != "cpu") {
    return BadSetting("--backend", config.backend, "auto, cuda or cpu");
  }
  WINNOW_RETURN_IF_ERROR(CheckDevices(config));
  if (config.devices.empty() || config.device == 0) return absl::OkStatus();
  return BadSetting("--device", absl::StrCat(config.device),
                    "no number beside --devices, which names all of them");
}

}  // namespace

ListenerRule MainListenerRule(const ServerConfig& config) {
  return {.beyond_loopback = config.has_tls()};
}

ListenerRule InsecureListenerRule() {
  return {.flag = "insecure-listen", .unix_allowed = false, .beyond_loopback = true};
}

ListenerRule AdminListenerRule() {
  return {.flag = "admin-listen", .way_out = "administration is never served beyond this host"};
}

ListenerRule HttpListenerRule() {
  return {.flag = "http-listen",
          .way_out = "--insecure-http-listen serves metrics and health on others"};
}

ListenerRule ExposedHttpListenerRule() {
  return {.flag = "insecure-http-listen", .unix_allowed = false, .beyond_loopback = true};
}

absl::Status ServerConfig::Validate() const {
  WINNOW_RETURN_IF_ERROR(CheckDeviceSettings(*this));
  WINNOW_RETURN_IF_ERROR(CheckAllListeners(*this));
  WINNOW_RETURN_IF_ERROR(CheckAccess(*this));
  const Range ranges[] = {
      {"--device", device, 0, kMaxDeviceNumber},
      {"--threads", threads, 0, 1024},
      {"--launch-slots", launch_slots, 1, 64},
      {"--queues", queues, 0, 64},
      {"--max-connections", max_connections, 1, 1'000'000},
      {"--tls-reload", absl::ToInt64Seconds(tls_reload), 1, 86'400},
      {"--max-inline-bytes", max_inline_bytes, 1024, kMaxInlineBytes},
      {"--max-queued-requests", max_queued_requests, 1, 1'000'000},
      {"--max-queued-bytes", max_queued_bytes, max_inline_bytes, kTiB},
      {"--max-concurrent-streams", max_concurrent_streams, 1, 1'000'000},
      {"--max-batch-requests", max_batch_requests, 1, kMaxSegments},
      {"--max-batch-rows", max_batch_rows, 1, 1'000'000},
      {"--max-batch-bytes", max_batch_bytes, 1024, kTiB},
      {"--buffer-pool-bytes", buffer_pool_bytes, 0, kTiB},
      {"--staging-pool-bytes", staging_pool_bytes, kMiB, kTiB},
      {"--max-leases", max_leases, 0, 1'000'000},
      {"--max-lease-bytes", max_lease_bytes, 0, kTiB},
      {"--max-lease-resources", max_lease_resources, 0, 1'000'000},
      {"--max-lease-requests", max_lease_requests, 1, 1'000'000},
      {"--max-resume-grace", absl::ToInt64Seconds(max_resume_grace), 0, 86'400},
      {"--slow-request", absl::ToInt64Seconds(slow_request), 0, 86'400},
      {"--drain-timeout", absl::ToInt64Seconds(drain_timeout), 0, 86'400},
  };
  for (const Range& range : ranges) WINNOW_RETURN_IF_ERROR(Check(range));
  return absl::OkStatus();
}

}  // namespace winnow::server
