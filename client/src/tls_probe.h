// One TLS handshake over a socket, made by hand so that its end can be looked at. Used by
// diagnosis.cc alone.

#ifndef WINNOW_CLIENT_SRC_TLS_PROBE_H_
#define WINNOW_CLIENT_SRC_TLS_PROBE_H_

#include <openssl/ssl.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/tls_credentials.h"
#include "winnow/client/unique_descriptor.h"

namespace winnow::client {

// A connection to "HOST:PORT". Unavailable says why there is none.
absl::StatusOr<UniqueDescriptor> ConnectTcp(const std::string& target, absl::Time deadline);

// How far a handshake came.
enum class ProbeEnd {
  kServed,  // the server went on after it saw this client's certificate
  kClosed,  // the server closed the connection
  kFailed,  // what came is no TLS, or the certificate was not accepted; the reasons tell
  kTimedOut,
};

struct ProbeOutcome {
  ProbeEnd end = ProbeEnd::kTimedOut;
  bool answered_in_tls = false;  // the server began a handshake, or sent an alert
  bool handshake_done = false;   // this side was content
  bool asked_for_certificate = false;
  long verify_result = X509_V_OK;  // of the server's certificate, X509_V_ERR_...
  int error_reason = 0;            // of OpenSSL, SSL_R_...: also the alerts that the server sends
};

// Shakes hands over `connection` and waits for the first word of the server after that: TLS 1.3
// tells a client last whether it was accepted. `server_name` is what the certificate must have.
// Never raises SIGPIPE.
ProbeOutcome ProbeTls(const UniqueDescriptor& connection, SSL_CTX* context,
                      const std::string& server_name, absl::Time deadline);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_TLS_PROBE_H_
