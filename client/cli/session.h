// The server that a command talks to.

#ifndef WINNOW_CLIENT_CLI_SESSION_H_
#define WINNOW_CLIENT_CLI_SESSION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "client/cli/row_ranges.h"
#include "winnow/client/client.h"

namespace winnow::cli {

// Heading of the options that every command has.
inline constexpr char kServerGroup[] = "Server and output";

// Options that every command has.
struct TargetOptions {
  std::string target;  // empty: client::DefaultTarget()
  client::TlsOptions tls;
  double timeout_seconds = 30;
  bool json = false;
};

void AddTargetOptions(CLI::App& command, TargetOptions& options);
// --device, for commands about one device of several.
void AddDeviceOption(CLI::App& command, std::optional<int64_t>& device);

// A server that has answered.
struct Session {
  client::Client client;
  client::ServerInfo info;
  std::string target;

  // What one request may hold: the server's limits, or less to show progress and bound memory.
  RowLimits limits() const;
  // "cpu, AMD EPYC", of several devices with their number.
  std::string DeviceText() const;
  // Makes the device of that ordinal the one that info.device describes and a command is about.
  // InvalidArgument names those that the server has.
  absl::Status ChooseDevice(int64_t ordinal);
};

// Asks the server who it is, once, so that a missing server is known at once. Unavailable (see
// client::IsUnreachable): none answers; the message says why and what to do. InvalidArgument: a
// target that cannot be used.
absl::StatusOr<Session> OpenSession(const TargetOptions& options);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_SESSION_H_
