// Puts a connection together: channel, completion thread, stub and its decorators.

#include <memory>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "client/src/call_settings.h"
#include "client/src/channel.h"
#include "client/src/completion_thread.h"
#include "client/src/connection_impl.h"
#include "client/src/grpc_byte_stream.h"
#include "client/src/grpc_stub.h"
#include "client/src/observing_stub.h"
#include "client/src/stream_stub.h"
#include "client/src/tls_credentials.h"
#include "winnow/client/connection.h"
#include "winnow/client/default_target.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

// Fits `transport`, whose completions are there, with the decorators that `options` ask for, over
// `unary`.
void Decorate(Stub* unary, const ClientOptions& options, Transport& transport) {
  CompletionThread* completions = transport.completions.get();
  Stub* outermost = unary;
  if (transport.open_stream != nullptr) {
    transport.streaming = std::make_unique<StreamStub>(unary, transport.open_stream, completions);
    outermost = transport.streaming.get();
  }
  if (options.observer != nullptr) {
    transport.stub = std::make_unique<ObservingStub>(outermost, options.observer, completions);
    outermost = transport.stub.get();
  }
  transport.environment = {
      .stub = outermost,
      .clock = completions,
      // Seeding a generator is cheap beside the wait that follows, and needs no lock.
      .jitter = [] { return absl::Uniform(absl::BitGen(), 0.0, 1.0); },
      .target =
          absl::StrCat(options.target, EffectiveTls(options).ca_path.empty() ? "" : " over TLS")};
}

}  // namespace

absl::StatusOr<std::shared_ptr<Connection>> MakeConnection(const ClientOptions& requested) {
  ClientOptions options = requested;
  if (options.target.empty()) options.target = DefaultTarget();
  options.tls = EffectiveTls(options);
  WINNOW_RETURN_IF_ERROR(CheckOptions(options));

  auto transport = std::make_shared<Transport>();
  transport->completions = std::make_shared<CompletionThread>();
  CompletionThread* completions = transport->completions.get();
  const std::shared_ptr<grpc::Channel> channel = MakeChannel(options);
  transport->unary = std::make_unique<GrpcStub>(channel, completions);
  if (options.streaming) transport->open_stream = ExecuteStreamOpener(channel, completions);
  Decorate(transport->unary.get(), options, *transport);
  return std::make_shared<ConnectionImpl>(std::move(options), std::move(transport));
}

std::shared_ptr<const Transport> TransportOfLease(const std::shared_ptr<const Transport>& base,
                                                  const ClientOptions& options) {
  if (base->open_stream == nullptr) return base;
  auto transport = std::make_shared<Transport>();
  transport->completions = base->completions;
  transport->base = base;
  transport->open_stream = base->open_stream;
  Decorate(base->unary.get(), options, *transport);
  return transport;
}

}  // namespace winnow::client
