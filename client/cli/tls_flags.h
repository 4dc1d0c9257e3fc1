// TLS of the command lines, winnow and winnow-stress.

#ifndef WINNOW_CLIENT_CLI_TLS_FLAGS_H_
#define WINNOW_CLIENT_CLI_TLS_FLAGS_H_

#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "winnow/client/tls_options.h"

namespace winnow::cli {

// --tls-ca, --tls-certificate, --tls-key and --tls-server-name, in the help's `group`.
void AddTlsFlags(CLI::App& command, client::TlsOptions& flags, const std::string& group);

// For ClientOptions::tls: what the flags say, and the environment of those that were not given.
// Unset when none was, which leaves all to the environment.
std::optional<client::TlsOptions> TlsOf(const client::TlsOptions& flags);

// The same error with the names of flags in place of those of fields.
absl::Status WithTlsFlagNames(const absl::Status& status);

// Keeps this process from TLS below 1.3, whose ciphers gRPC lets one choose by an environment
// variable alone. Call it before there is a thread or a connection.
void RefuseOldTls();

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_TLS_FLAGS_H_
