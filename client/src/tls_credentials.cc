#include "client/src/tls_credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "winnow/client/unique_descriptor.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

constexpr unsigned kReloadSeconds = 10;

absl::Status Bad(ErrorReason reason, absl::string_view field, const std::string& value,
                 absl::string_view what) {
  ERR_clear_error();
  return MakeError(absl::StatusCode::kInvalidArgument, absl::StrCat(field, " ", what),
                   {.reason = reason, .field = std::string(field), .value = value});
}

absl::Status BadFile(absl::string_view field, const std::string& path, absl::string_view why) {
  return Bad(ErrorReason::kValueOutOfRange, field, path, absl::StrCat("is ", path, ": ", why));
}

absl::Status CheckReadable(absl::string_view field, const std::string& path) {
  const UniqueDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // A folder opens and does not read.
  char byte = 0;
  if (file.valid() && read(file.get(), &byte, 1) >= 0) return absl::OkStatus();
  return BadFile(field, path, strerror(errno));
}

absl::Status UseIdentity(const TlsOptions& tls, SSL_CTX* context) {
  WINNOW_RETURN_IF_ERROR(CheckReadable("tls.certificate_path", tls.certificate_path));
  if (SSL_CTX_use_certificate_chain_file(context, tls.certificate_path.c_str()) != 1) {
    return BadFile("tls.certificate_path", tls.certificate_path, "it holds no PEM certificate");
  }
  WINNOW_RETURN_IF_ERROR(CheckReadable("tls.key_path", tls.key_path));
  if (SSL_CTX_use_PrivateKey_file(context, tls.key_path.c_str(), SSL_FILETYPE_PEM) == 1) {
    return absl::OkStatus();
  }
  const bool of_another = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;
  return BadFile("tls.key_path", tls.key_path,
                 of_another ? "it is not the key of the certificate in tls.certificate_path"
                            : "it holds no PEM key that can be read without a password");
}

}  // namespace

TlsOptions EffectiveTls(const ClientOptions& options) {
  if (options.tls.has_value()) return *options.tls;
  return absl::StartsWith(options.target, "unix:") ? TlsOptions() : TlsOptionsFromEnvironment();
}

absl::string_view HostOf(absl::string_view target) {
  const absl::string_view host = target.substr(0, target.rfind(':'));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

absl::StatusOr<SslContext> MakeSslContext(const TlsOptions& tls) {
  SslContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (context == nullptr) return absl::InternalError("openssl gives no context");
  // A key with a password would ask the terminal for it.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return 0; });
  WINNOW_RETURN_IF_ERROR(CheckReadable("tls.ca_path", tls.ca_path));
  if (SSL_CTX_load_verify_locations(context.get(), tls.ca_path.c_str(), nullptr) != 1) {
    return BadFile("tls.ca_path", tls.ca_path, "it holds no PEM certificate");
  }
  if (!tls.certificate_path.empty()) {
    WINNOW_RETURN_IF_ERROR(UseIdentity(tls, context.get()));
  }
  return context;
}

absl::Status CheckTls(const TlsOptions& tls, absl::string_view target) {
  const bool certificate = !tls.certificate_path.empty(), key = !tls.key_path.empty();
  if (tls.ca_path.empty()) {
    if (!certificate && !key && tls.server_name.empty()) return absl::OkStatus();
    return Bad(ErrorReason::kFieldMissing, "tls.ca_path", "",
               "is empty and other fields of tls are not: name the authority that signs the "
               "server's certificate");
  }
  if (absl::StartsWith(target, "unix:")) {
    return Bad(ErrorReason::kFieldsConflict, "tls", tls.ca_path,
               absl::StrCat("does not go with the target ", target,
                            ": sockets of this host speak none; name HOST:PORT"));
  }
  if (certificate != key) {
    return Bad(ErrorReason::kFieldMissing, certificate ? "tls.key_path" : "tls.certificate_path",
               "", absl::StrCat("is empty: a certificate and its key go together"));
  }
  return MakeSslContext(tls).status();
}

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const TlsOptions& tls) {
  if (tls.ca_path.empty()) return grpc::InsecureChannelCredentials();
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          tls.key_path, tls.certificate_path, tls.ca_path, kReloadSeconds));
  options.watch_root_certs();
  if (!tls.certificate_path.empty()) options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace winnow::client
