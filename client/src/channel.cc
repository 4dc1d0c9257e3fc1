#include "client/src/channel.h"

#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/un.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/src/tls_credentials.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/plain_number.h"

namespace winnow::client {
namespace {

// The path of a socket address ends with a zero.
constexpr int kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

absl::Status BadTarget(absl::string_view target, absl::string_view accepted) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat("target is \"", target, "\"; use ", accepted),
                   {.reason = ErrorReason::kValueOutOfRange,
                    .field = "target",
                    .value = std::string(target),
                    .limit = std::string(accepted)});
}

// gRPC shuts itself down with its last user, and waits for its own threads then: up to ten seconds
// after a large message, because its backup poller looks up that rarely. One reference that is
// never returned keeps the end of a client, and of a short program, immediate.
void KeepGrpcInitialised() {
  static const bool initialised = [] {
    grpc_init();
    return true;
  }();
  static_cast<void>(initialised);
}

}  // namespace

absl::Status CheckTarget(absl::string_view target) {
  static constexpr absl::string_view kForms = "unix:PATH or HOST:PORT";
  absl::string_view path = target;
  if (absl::ConsumePrefix(&path, "unix:")) {
    // unix:///absolute is a form too; what stands between the slashes would be a host.
    if (absl::ConsumePrefix(&path, "//") && !absl::StartsWith(path, "/")) {
      return BadTarget(target, kForms);
    }
    if (path.empty()) return BadTarget(target, kForms);
    if (path.size() > kMaxSocketPath) {
      return BadTarget(target, absl::StrCat("a path of 1 to ", kMaxSocketPath, " bytes"));
    }
    return absl::OkStatus();
  }
  const size_t colon = target.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return BadTarget(target, kForms);
  const absl::string_view host = target.substr(0, colon);
  const bool bracketed = host.front() == '[' && host.back() == ']' && host.size() > 2;
  if (!bracketed && host.find_first_of(":/[]@?# \t") != absl::string_view::npos) {
    return BadTarget(target, kForms);
  }
  int32_t port = 0;
  if (!ParsePlainNumber(target.substr(colon + 1), port) || port < 1 || port > 65535) {
    return BadTarget(target, "a port of 1 to 65535");
  }
  return absl::OkStatus();
}

std::shared_ptr<grpc::Channel> MakeChannel(const ClientOptions& options) {
  KeepGrpcInitialised();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  if (!options.user_agent.empty()) arguments.SetUserAgentPrefix(options.user_agent);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // RetryPolicy decides on repeats; gRPC's own would keep a second copy of every large request.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A server that comes back is found within RetryPolicy's backoffs rather than gRPC's, which grow
  // from one second to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // What one attempt to connect may take at most, TLS included; one that fails sooner is repeated
  // sooner.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Traffic to a sidecar never belongs to the web proxy of the environment.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const TlsOptions tls = EffectiveTls(options);
  if (!tls.server_name.empty()) arguments.SetSslTargetNameOverride(tls.server_name);
  return grpc::CreateCustomChannel(options.target, MakeCredentials(tls), arguments);
}

}  // namespace winnow::client
