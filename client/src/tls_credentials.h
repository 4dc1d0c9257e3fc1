// TLS of a channel: its options checked with their files, and gRPC's credentials of them. Why a
// handshake fails: diagnosis.h.

#ifndef WINNOW_CLIENT_SRC_TLS_CREDENTIALS_H_
#define WINNOW_CLIENT_SRC_TLS_CREDENTIALS_H_

#include <grpcpp/security/credentials.h>
#include <openssl/ssl.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "winnow/client/options.h"

namespace winnow::client {

// The TLS of `options`, whose target is not empty: what they say, else for HOST:PORT what the
// environment says, else none (an empty ca_path).
TlsOptions EffectiveTls(const ClientOptions& options);

// The host of "HOST:PORT", without the brackets of an IPv6 address.
absl::string_view HostOf(absl::string_view target);

using SslContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

// An OpenSSL client that trusts and shows what `tls` says. InvalidArgument names the option (the
// field is "tls.key_path" and so on) of a file that cannot be read, is not PEM, or is the key of
// another certificate.
absl::StatusOr<SslContext> MakeSslContext(const TlsOptions& tls);

// InvalidArgument when `tls` cannot be used for `target`: as above; FIELDS_CONFLICT for a Unix
// socket; FIELD_MISSING for a certificate without a key, the reverse, and either without a CA.
absl::Status CheckTls(const TlsOptions& tls, absl::string_view target);

// Of options that CheckTls accepts. Reads the files again every ten seconds, on a thread of its
// own; insecure credentials without a CA.
std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const TlsOptions& tls);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_TLS_CREDENTIALS_H_
