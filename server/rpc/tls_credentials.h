// TLS of the listeners that leave the host: version 1.3 alone, certificates of clients checked
// against a list of names, files read again while the server runs.

#ifndef WINNOW_SERVER_RPC_TLS_CREDENTIALS_H_
#define WINNOW_SERVER_RPC_TLS_CREDENTIALS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/security/server_credentials.h"
#include "server/base/metrics.h"

namespace winnow::server {

struct TlsOptions {
  std::string certificate_path;  // PEM, the server's chain
  std::string key_path;          // PEM
  std::string client_ca_path;    // PEM, who signs clients' certificates; unused without mutual
  bool mutual = true;            // clients need a certificate
  // Subject alternative names, DNS or URI, of which a client's certificate must have one. A DNS
  // name may begin with "*.", which stands for one label. Empty: every client of the authority.
  std::vector<std::string> allowed_names;
  absl::Duration reload_period = absl::Seconds(10);  // whole seconds, 1 or more
};

// InvalidArgument when a file cannot be read or certificate and key do not belong together.
// Refused clients are counted in winnow_refused_connections_total{why="name"}; `metrics` outlives
// the credentials. Must be called before the process first uses gRPC's TLS, whose ciphers it sets.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTlsCredentials(
    const TlsOptions& options, MetricsRegistry& metrics);

// Whether one of a certificate's names is allowed. DNS names are compared without case.
bool NameAllowed(const std::vector<std::string>& allowed, const std::vector<std::string>& dns_names,
                 const std::vector<std::string>& uri_names);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_TLS_CREDENTIALS_H_
