#include "winnow/client/diagnosis.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/src/call_settings.h"
#include "client/src/tls_credentials.h"
#include "client/src/tls_probe.h"
#include "winnow/client/default_target.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

constexpr absl::string_view kRefused = "the server refuses this client's certificate";

// Alerts of TLS arrive as these, 1000 + their number.
constexpr int kAlertUnknownAuthority = 1048, kAlertCertificateRequired = 1116;

// Whether the client's own certificate is out of its time: what is said of it, or nothing.
std::optional<std::string> OwnTime(SSL_CTX* context) {
  const X509* own = SSL_CTX_get0_certificate(context);
  if (own == nullptr) return std::nullopt;
  if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
    return "the certificate of this client (tls.certificate_path) has expired; get a new one";
  }
  if (X509_cmp_current_time(X509_get0_notBefore(own)) > 0) {
    return "the certificate of this client (tls.certificate_path) is not valid yet; compare the "
           "clocks";
  }
  return std::nullopt;
}

std::string OfServerCertificate(long result, const std::string& name) {
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the certificate of the server, or of its authority, has expired; whoever runs the "
             "server must replace it";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the certificate of the server is not valid yet; compare the clocks";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return absl::StrCat("the certificate of the server is for another name than ", name,
                          "; connect by a name that it has, or give that one as tls.server_name");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "the certificate of the server is of an authority that tls.ca_path does not have; "
             "name the one that signed it";
    default:
      return absl::StrCat("the certificate of the server is not accepted: ",
                          X509_verify_cert_error_string(result));
  }
}

// The server ended a handshake that this side had completed.
std::string OfOwnCertificate(const ProbeOutcome& outcome, SSL_CTX* context) {
  if (const auto time = OwnTime(context); time.has_value()) return *time;
  const bool showed_one = SSL_CTX_get0_certificate(context) != nullptr;
  if (outcome.error_reason == kAlertCertificateRequired ||
      (outcome.asked_for_certificate && !showed_one)) {
    return "the server wants a certificate of its clients; give one with tls.certificate_path and "
           "tls.key_path";
  }
  if (outcome.error_reason == kAlertUnknownAuthority) {
    return absl::StrCat(kRefused,
                        ": it is not of the authority that the server trusts "
                        "(--tls-client-ca of the server)");
  }
  return absl::StrCat(kRefused,
                      ": it is of another authority than --tls-client-ca of the server, "
                      "or has no name of its --tls-allow-names; the server's log tells which");
}

// What is said of a failed handshake; nothing when it did not fail.
std::optional<std::string> OfHandshake(const ProbeOutcome& outcome, SSL_CTX* context,
                                       const std::string& name) {
  if (outcome.end == ProbeEnd::kServed) return std::nullopt;
  if (outcome.handshake_done) {
    // A server that is content need not speak first.
    if (outcome.end == ProbeEnd::kTimedOut) return std::nullopt;
    return OfOwnCertificate(outcome, context);
  }
  if (outcome.verify_result != X509_V_OK && outcome.answered_in_tls) {
    return OfServerCertificate(outcome.verify_result, name);
  }
  if (outcome.answered_in_tls) {
    return "the handshake failed: the server does not speak TLS 1.3, or is no winnow-server";
  }
  if (outcome.end == ProbeEnd::kTimedOut) return "what listens there does not answer";
  return "the server does not speak TLS there; leave tls.ca_path (WINNOW_CLIENT_TLS_CA) empty for "
         "this target, or name the server's TLS listener";
}

absl::Status Unreachable(const std::string& target, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("no server answers at ", target, ": ", why));
}

absl::Status ProbeWithTls(const UniqueDescriptor& connection, const ClientOptions& options,
                          absl::Time deadline) {
  WINNOW_ASSIGN_OR_RETURN(const SslContext context, MakeSslContext(*options.tls));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  const std::string name = options.tls->server_name.empty() ? std::string(HostOf(options.target))
                                                            : options.tls->server_name;
  const ProbeOutcome outcome = ProbeTls(connection, context.get(), name, deadline);
  const std::optional<std::string> why = OfHandshake(outcome, context.get(), name);
  return why.has_value() ? Unreachable(options.target, *why) : absl::OkStatus();
}

absl::Status ProbeInTheClear(const UniqueDescriptor& connection, const ClientOptions& options,
                             absl::Time deadline) {
  const SslContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (context == nullptr) return absl::OkStatus();
  const ProbeOutcome outcome =
      ProbeTls(connection, context.get(), std::string(HostOf(options.target)), deadline);
  if (!outcome.answered_in_tls) return absl::OkStatus();
  return Unreachable(options.target,
                     "the server speaks TLS and this client does not; name the authority of its "
                     "certificate with tls.ca_path (WINNOW_CLIENT_TLS_CA)");
}

}  // namespace

absl::Status DiagnoseConnection(const ClientOptions& requested, absl::Duration patience) {
  ClientOptions options = requested;
  if (options.target.empty()) options.target = DefaultTarget();
  options.tls = EffectiveTls(options);
  WINNOW_RETURN_IF_ERROR(CheckOptions(options));
  if (absl::StartsWith(options.target, "unix:")) return absl::OkStatus();
  const absl::Time deadline = absl::Now() + patience;
  const absl::StatusOr<UniqueDescriptor> connection = ConnectTcp(options.target, deadline);
  if (!connection.ok()) return Unreachable(options.target, connection.status().message());
  return options.tls->ca_path.empty() ? ProbeInTheClear(*connection, options, deadline)
                                      : ProbeWithTls(*connection, options, deadline);
}

}  // namespace winnow::client
