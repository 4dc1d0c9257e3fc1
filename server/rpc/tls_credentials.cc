#include "server/rpc/tls_credentials.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "server/base/logging.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// gRPC 1.51 has no public way to ask for TLS 1.3 alone, but lets one choose the cipher suites of
// TLS 1.2. This one needs a key that both sides hold beforehand, which there is none of: a
// handshake below 1.3 finds no suite in common and fails. Suites of 1.3 are a list of their own.
constexpr char kCipherVariable[] = "GRPC_SSL_CIPHER_SUITES";
constexpr char kNoSuiteOfTls12[] = "DHE-PSK-AES256-GCM-SHA384";

using SslContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

absl::Status BadFile(absl::string_view flag, const std::string& path, absl::string_view why) {
  ERR_clear_error();
  const int unreadable = access(path.c_str(), R_OK) == 0 ? 0 : errno;
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      unreadable == 0 ? absl::StrCat(flag, "=", path, ": ", why)
                      : absl::StrCat(flag, "=", path, ": cannot be read: ", strerror(unreadable),
                                     "; check the path and who may read it"),
      {.reason = ErrorReason::kValueOutOfRange, .field = std::string(flag), .value = path});
}

// gRPC would start with files that it cannot use and refuse every client without a word.
absl::Status CheckFiles(const TlsOptions& options) {
  const SslContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) return absl::InternalError("openssl gives no context");
  // A key with a passphrase would ask the terminal for it, and wait.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.certificate_path.c_str()) != 1) {
    return BadFile("--tls-cert", options.certificate_path,
                   "is no PEM certificate chain; give the file with -----BEGIN CERTIFICATE-----");
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), options.key_path.c_str(), SSL_FILETYPE_PEM) != 1) {
    return BadFile("--tls-key", options.key_path,
                   "is no PEM private key, or not that of --tls-cert; give the key that the "
                   "certificate was made with, without a passphrase");
  }
  if (options.mutual &&
      SSL_CTX_load_verify_locations(context.get(), options.client_ca_path.c_str(), nullptr) != 1) {
    return BadFile("--tls-client-ca", options.client_ca_path,
                   "is no PEM certificate; give the file with -----BEGIN CERTIFICATE-----");
  }
  return absl::OkStatus();
}

std::vector<std::string> Copy(const std::vector<grpc::string_ref>& names) {
  std::vector<std::string> copies;
  for (const grpc::string_ref& name : names) copies.emplace_back(name.data(), name.size());
  return copies;
}

// Runs after the chain was verified.
class NameVerifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  NameVerifier(std::vector<std::string> allowed, Counter* refused)
      : allowed_(std::move(allowed)), refused_(refused) {}

  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)> /*callback*/, grpc::Status* sync_status) override {
    if (allowed_.empty() ||
        NameAllowed(allowed_, Copy(request->dns_names()), Copy(request->uri_names()))) {
      *sync_status = grpc::Status::OK;
    } else {
      refused_->Add();
      Log(LogLevel::kWarning, "client refused", {{"why", "no name of its certificate is allowed"}});
      *sync_status = {grpc::StatusCode::UNAUTHENTICATED, "no name of the certificate is allowed"};
    }
    return true;  // decided at once
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::vector<std::string> allowed_;
  Counter* const refused_;
};

bool Matches(absl::string_view pattern, absl::string_view dns_name) {
  if (absl::EqualsIgnoreCase(pattern, dns_name)) return true;
  if (!absl::StartsWith(pattern, "*.")) return false;
  const size_t dot = dns_name.find('.');
  return dot != absl::string_view::npos && dot > 0 &&
         absl::EqualsIgnoreCase(pattern.substr(1), dns_name.substr(dot));
}

}  // namespace

bool NameAllowed(const std::vector<std::string>& allowed, const std::vector<std::string>& dns_names,
                 const std::vector<std::string>& uri_names) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& pattern) {
    const bool is_uri = std::find(uri_names.begin(), uri_names.end(), pattern) != uri_names.end();
    return is_uri || std::any_of(dns_names.begin(), dns_names.end(),
                                 [&](const std::string& name) { return Matches(pattern, name); });
  });
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeTlsCredentials(
    const TlsOptions& options, MetricsRegistry& metrics) {
  WINNOW_RETURN_IF_ERROR(CheckFiles(options));
  setenv(kCipherVariable, kNoSuiteOfTls12, /*overwrite=*/1);
  const auto seconds = static_cast<unsigned int>(absl::ToInt64Seconds(options.reload_period));
  const std::string client_ca = options.mutual ? options.client_ca_path : "";
  grpc::experimental::TlsServerCredentialsOptions tls(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          options.key_path, options.certificate_path, client_ca, seconds));
  tls.watch_identity_key_cert_pairs();
  if (options.mutual) tls.watch_root_certs();
  tls.set_cert_request_type(options.mutual
                                ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  if (options.mutual) {
    Counter* const refused = metrics.AddCounter("winnow_refused_connections_total",
                                                "Connections refused, by why.", {{"why", "name"}});
    tls.set_certificate_verifier(
        grpc::experimental::ExternalCertificateVerifier::Create<NameVerifier>(options.allowed_names,
                                                                              refused));
  }
  return grpc::experimental::TlsServerCredentials(tls);
}

}  // namespace winnow::server
