// Puts a connection together: channel, completion thread, stub and its decorators.

#include <memory>
#include <utility>

#include "absl/random/random.h"
#include "client/src/call_settings.h"
#include "client/src/channel.h"
#include "client/src/completion_thread.h"
#include "client/src/connection_impl.h"
#include "client/src/grpc_stub.h"
#include "client/src/observing_stub.h"
#include "winnow/client/connection.h"
#include "winnow/client/default_target.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {

absl::StatusOr<std::shared_ptr<Connection>> MakeConnection(const ClientOptions& requested) {
  ClientOptions options = requested;
  if (options.target.empty()) options.target = DefaultTarget();
  WINNOW_RETURN_IF_ERROR(CheckOptions(options));

  auto transport = std::make_shared<Transport>();
  transport->completions = std::make_unique<CompletionThread>();
  CompletionThread* completions = transport->completions.get();
  transport->stub =
      std::make_unique<GrpcStub>(MakeChannel(options.target, options.user_agent), completions);
  if (options.observer != nullptr) {
    transport->stub =
        std::make_unique<ObservingStub>(std::move(transport->stub), options.observer, completions);
  }
  transport->environment = {
      .stub = transport->stub.get(),
      .clock = completions,
      // Seeding a generator is cheap beside the wait that follows, and needs no lock.
      .jitter = [] { return absl::Uniform(absl::BitGen(), 0.0, 1.0); },
      .target = options.target};
  return std::make_shared<ConnectionImpl>(std::move(options), std::move(transport));
}

}  // namespace winnow::client
