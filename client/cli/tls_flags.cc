#include "client/cli/tls_flags.h"

#include <cstdlib>

#include "absl/strings/str_replace.h"
#include "winnow/kernels/error.h"

namespace winnow::cli {

void AddTlsFlags(CLI::App& command, client::TlsOptions& flags, const std::string& group) {
  const auto add = [&](const char* name, std::string& value, const char* type, const char* help) {
    command.add_option(name, value, help)->type_name(type)->group(group);
  };
  add("--tls-ca", flags.ca_path, "FILE",
      "Speak TLS 1.3, and trust servers of these authorities (PEM);\ndefault "
      "$WINNOW_CLIENT_TLS_CA");
  add("--tls-certificate", flags.certificate_path, "FILE",
      "What to show to the server (PEM); default\n$WINNOW_CLIENT_TLS_CERTIFICATE");
  add("--tls-key", flags.key_path, "FILE", "Its key (PEM); default $WINNOW_CLIENT_TLS_KEY");
  add("--tls-server-name", flags.server_name, "NAME",
      "Name that the server's certificate must have; default\n$WINNOW_CLIENT_TLS_SERVER_NAME, else "
      "the target's host");
}

std::optional<client::TlsOptions> TlsOf(const client::TlsOptions& flags) {
  if (flags.ca_path.empty() && flags.certificate_path.empty() && flags.key_path.empty() &&
      flags.server_name.empty()) {
    return std::nullopt;
  }
  return client::TlsOptionsFromEnvironment(flags);
}

absl::Status WithTlsFlagNames(const absl::Status& status) {
  const std::string message =
      absl::StrReplaceAll(status.message(), {{"tls.ca_path", "--tls-ca"},
                                             {"tls.certificate_path", "--tls-certificate"},
                                             {"tls.key_path", "--tls-key"},
                                             {"tls.server_name", "--tls-server-name"},
                                             {"tls does not go with", "--tls-ca does not go with"},
                                             {"other fields of tls", "other flags of TLS"}});
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return info.has_value() ? MakeError(status.code(), message, *info)
                          : absl::Status(status.code(), message);
}

void RefuseOldTls() {
  // A suite that needs a key which both sides hold beforehand: no handshake below 1.3 finds a suite
  // in common.
  setenv("GRPC_SSL_CIPHER_SUITES", "DHE-PSK-AES256-GCM-SHA384", /*overwrite=*/1);
}

}  // namespace winnow::cli
