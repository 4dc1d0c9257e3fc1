#include "client/cli/session.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/cli/option_checks.h"
#include "client/cli/tls_flags.h"
#include "client/cli/unreachable.h"
#include "winnow/client/default_target.h"
#include "winnow/client/diagnosis.h"
#include "winnow/client/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {

void AddTargetOptions(CLI::App& command, TargetOptions& options) {
  command
      .add_option("--target", options.target,
                  "Server: unix:PATH or HOST:PORT; default $WINNOW_TARGET,\n"
                  "else " +
                      client::DefaultSocketTarget())
      ->type_name("ADDRESS")
      ->group(kServerGroup);
  AddTlsFlags(command, options.tls, kServerGroup);
  command
      .add_option("--timeout", options.timeout_seconds,
                  "Longest wait for each request, in seconds; default 30")
      ->type_name("SECONDS")
      ->transform(Seconds())
      ->group(kServerGroup);
  command.add_flag("--json", options.json, "Print the summary as one JSON object")
      ->group(kServerGroup);
}

void AddDeviceOption(CLI::App& command, std::optional<int64_t>& device) {
  command
      .add_option("--device", device, "Device, as 'winnow info' numbers them; default: the first")
      ->type_name("NUMBER")
      ->transform(WholeNumber(0, std::numeric_limits<int32_t>::max()))
      ->group("Operation");
}

RowLimits Session::limits() const {
  constexpr int64_t kMostBytes = int64_t{1} << 25;
  RowLimits limits;
  // A server that declares no limit gets the command's own.
  if (info.limits.max_rows > 0) limits.rows = std::min(limits.rows, info.limits.max_rows);
  limits.bytes = info.limits.max_inline_bytes > 0
                     ? std::min(kMostBytes, info.limits.max_inline_bytes)
                     : kMostBytes;
  return limits;
}

std::string Session::DeviceText() const {
  const std::string text = absl::StrCat(info.device.kind, ", ", info.device.name);
  if (info.devices.size() < 2) return text;
  return absl::StrCat("device ", info.device.ordinal, " of ", info.devices.size(), ": ", text);
}

absl::Status Session::ChooseDevice(int64_t ordinal) {
  for (const client::DeviceDescription& device : info.devices) {
    if (device.ordinal != ordinal) continue;
    info.device = device;
    return absl::OkStatus();
  }
  const std::string there = absl::StrJoin(
      info.devices, ", ", [](std::string* text, const client::DeviceDescription& device) {
        absl::StrAppend(text, device.ordinal);
      });
  return absl::InvalidArgumentError(
      absl::StrCat("--device is ", ordinal, "; ", target, " has ", there));
}

namespace {

constexpr absl::Duration kLongestLook = absl::Seconds(2);

absl::Status BadOptions(const TargetOptions& options, const std::string& target,
                        const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  if (info.has_value() && absl::StartsWith(info->field, "tls")) return WithTlsFlagNames(status);
  const absl::string_view source = options.target.empty() ? "WINNOW_TARGET" : "--target";
  return absl::InvalidArgumentError(WhyNoTarget(source, target, status));
}

// Of a target that has just not been reached.
absl::Status WhyNotReached(const client::ClientOptions& options) {
  const absl::Status seen =
      client::DiagnoseConnection(options, std::min(options.timeout, kLongestLook));
  return seen.ok() ? absl::UnavailableError(WhyUnreachable(options.target))
                   : WithTlsFlagNames(seen);
}

}  // namespace

absl::StatusOr<Session> OpenSession(const TargetOptions& options) {
  const std::string target = options.target.empty() ? client::DefaultTarget() : options.target;
  const client::ClientOptions client_options{.target = target,
                                             .tls = TlsOf(options.tls),
                                             .timeout = absl::Seconds(options.timeout_seconds),
                                             .user_agent = "winnow-cli"};
  absl::StatusOr<client::Client> client = client::Client::Create(client_options);
  if (!client.ok()) return BadOptions(options, client_options.target, client.status());
  absl::StatusOr<client::ServerInfo> info =
      client->GetServerInfo({.retry = client::RetryPolicy::Never()});
  if (!info.ok() && client::IsUnreachable(info.status())) return WhyNotReached(client_options);
  if (!info.ok()) return info.status();
  return Session{.client = *std::move(client), .info = *std::move(info), .target = target};
}

}  // namespace winnow::cli
