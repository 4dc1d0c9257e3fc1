#include "server/app/server.h"

#include <sys/stat.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/app/listener.h"
#include "server/backend/backend_factory.h"
#include "server/base/clock.h"
#include "server/base/logging.h"
#include "server/base/metrics.h"
#include "server/batching/scheduler.h"
#include "server/resources/descriptor_socket.h"
#include "server/resources/lease_ledger.h"
#include "server/rpc/lease_streams.h"
#include "server/rpc/rpc_environment.h"
#include "server/rpc/rpc_server.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// Replies leave at once unless a peer does not read; such a one must not hold up the end.
constexpr absl::Duration kReplyTimeout = absl::Seconds(2);

int32_t QueueCount(int32_t asked) {
  if (asked > 0) return asked;
  return std::clamp<int32_t>(static_cast<int32_t>(std::thread::hardware_concurrency()) / 4, 1, 4);
}

// gRPC closes connections when its buffers reach this, so it must lie well above what the queue
// holds: a full queue is answered politely before.
int64_t TransportBytes(const ServerConfig& config) {
  return 2 * config.max_queued_bytes + (int64_t{256} << 20);
}

// Sockets made while it lives are for the user and its group alone (0660).
class ScopedSocketMode {
 public:
  ScopedSocketMode() : former_(umask(0117)) {}
  ~ScopedSocketMode() { umask(former_); }

 private:
  const mode_t former_;
};

class ServerImpl final : public Server {
 public:
  ~ServerImpl() override { Drain(absl::ZeroDuration()); }

  absl::Status Open(const ServerConfig& config,
                    std::function<void(absl::Duration timeout)> on_drain_request) {
    const absl::Time begin = environment_.clock->Now();
    // Before the backend: a path that another server holds is known in microseconds.
    RpcServerOptions options{.queues = QueueCount(config.queues),
                             .max_concurrent_streams = config.max_concurrent_streams,
                             .transport_memory_bytes = TransportBytes(config)};
    WINNOW_RETURN_IF_ERROR(ClaimListeners(config, options.listeners));
    WINNOW_ASSIGN_OR_RETURN(backend_,
                            OpenBackend({.kind = config.backend,
                                         .device_ordinal = config.device,
                                         .cpu_threads = config.threads,
                                         .launch_slots = config.launch_slots,
                                         .buffer_pool_bytes = config.buffer_pool_bytes,
                                         .staging_pool_bytes = config.staging_pool_bytes}));
    FillEnvironment(config, std::move(on_drain_request));
    WINNOW_RETURN_IF_ERROR(ListenForDescriptors());
    {
      const ScopedSocketMode mode;
      WINNOW_ASSIGN_OR_RETURN(rpc_, RpcServer::Start(options, environment_));
    }
    LogReady(config, environment_.clock->Now() - begin);
    return absl::OkStatus();
  }

  const std::vector<std::string>& addresses() const override { return rpc_->addresses(); }

  absl::Status CheckHealth() override {
    absl::Status status = backend_->Healthy();
    if (!status.ok() && environment_.state != ServingState::kFailed) {
      environment_.state = ServingState::kFailed;
      rpc_->SetServing(false);
      Log(LogLevel::kError, "device lost", {{"error", status.message()}});
    }
    return status;
  }

  void ExpireLeases() override {
    ledger_->ExpireGraces();
    descriptors_.DropExpired();
  }

  void Drain(absl::Duration timeout) override {
    if (rpc_ == nullptr) return;
    auto serving = ServingState::kServing;
    environment_.state.compare_exchange_strong(serving, ServingState::kDraining);
    rpc_->SetServing(false);
    const SchedulerStats before = scheduler_->stats();
    Log(LogLevel::kInfo, "draining",
        {{"queued", before.queued_tasks},
         {"running", before.running_tasks},
         {"timeout", absl::FormatDuration(timeout)}});
    lease_streams_.SendDraining(timeout);
    scheduler_->Drain(environment_.clock->Now() + timeout);
    ledger_->Close("the server is draining");
    rpc_->AwaitReplies(absl::Now() + kReplyTimeout);
    rpc_->Stop();
    backend_->Drain();
    const SchedulerStats after = scheduler_->stats();
    Log(LogLevel::kInfo, "stopped",
        {{"finished", after.completed - before.completed},
         {"cancelled", after.cancelled - before.cancelled}});
    descriptor_sockets_.clear();
    rpc_ = nullptr;
    ledger_ = nullptr;
    scheduler_ = nullptr;
    backend_ = nullptr;
    claims_.clear();
  }

 private:
  absl::Status ClaimListeners(const ServerConfig& config, std::vector<std::string>& addresses) {
    std::vector<std::string> listeners = config.listeners;
    if (listeners.empty()) listeners.push_back(DefaultListener());
    for (const std::string& text : listeners) {
      WINNOW_ASSIGN_OR_RETURN(const Listener listener, ParseListener(text));
      addresses.push_back(listener.address);
      if (listener.socket_path.empty()) continue;
      WINNOW_ASSIGN_OR_RETURN(auto claim, SocketClaim::Take(listener.socket_path));
      claims_.push_back(std::move(claim));
    }
    return absl::OkStatus();
  }

  void FillEnvironment(const ServerConfig& config,
                       std::function<void(absl::Duration timeout)> on_drain_request) {
    const SchedulerOptions queue{.max_queued_tasks = config.max_queued_requests,
                                 .max_queued_host_bytes = config.max_queued_bytes,
                                 .max_batch_items = config.max_batch_requests,
                                 .max_batch_rows = config.max_batch_rows,
                                 .max_batch_bytes = config.max_batch_bytes};
    scheduler_ = Scheduler::Create(queue, backend_.get(), environment_.clock);
    environment_.backend = backend_.get();
    environment_.scheduler = scheduler_.get();
    ledger_ = std::make_unique<LeaseLedger>(
        LeaseLedgerOptions{
            .max_leases = config.max_leases,
            .max_lease_bytes = std::min(config.max_lease_bytes, config.buffer_pool_bytes),
            .max_lease_resources = config.max_lease_resources,
            .max_lease_inflight = config.max_lease_requests,
            .max_server_bytes = config.buffer_pool_bytes,
            .max_resume_grace = config.max_resume_grace},
        environment_.clock,
        [this](int64_t number, absl::string_view message, absl::AnyInvocable<void() &&> finished) {
          Log(LogLevel::kInfo, "lease ended", {{"lease", number}, {"why", message}});
          lease_streams_.SendEnded(number, message);
          scheduler_->EndFlow(number, std::move(finished));
        });
    environment_.ledger = ledger_.get();
    environment_.lease_streams = &lease_streams_;
    environment_.descriptors = &descriptors_;
    environment_.metrics = &metrics_;
    environment_.limits.max_inline_bytes = config.max_inline_bytes;
    environment_.version = ServerVersion();
    environment_.queue_limits = queue;
    environment_.start_time = environment_.clock->Now();
    environment_.tcp_admin = config.tcp_admin;
    environment_.begin_drain = std::move(on_drain_request);
  }

  // One beside the first Unix socket; engines on the same host reach it by path, whatever listener
  // they use.
  absl::Status ListenForDescriptors() {
    for (const auto& claim : claims_) {
      WINNOW_ASSIGN_OR_RETURN(
          auto socket,
          DescriptorSocket::Listen({.path = absl::StrCat(claim->path(), ".fd")}, &descriptors_,
                                   [this](absl::string_view lease_id, uid_t) {
                                     return ledger_->Resources(lease_id).status();
                                   }));
      if (environment_.descriptor_socket_path.empty()) {
        environment_.descriptor_socket_path = socket->path();
      }
      descriptor_sockets_.push_back(std::move(socket));
    }
    return absl::OkStatus();
  }

  void LogReady(const ServerConfig& config, absl::Duration start_duration) const {
    const BackendInfo& backend = backend_->info();
    Log(LogLevel::kInfo, "server ready",
        {{"version", environment_.version},
         {"backend", backend.device.kind},
         {"device", backend.device.name},
         {"why", backend.choice_reason},
         {"listeners", absl::StrJoin(rpc_->addresses(), ",")},
         {"max_inline_bytes", config.max_inline_bytes},
         {"max_queued_requests", config.max_queued_requests},
         {"max_queued_bytes", config.max_queued_bytes},
         {"start_millis", absl::ToInt64Milliseconds(start_duration)}});
  }

  // In the order in which they are needed, so that they are destroyed in the reverse one.
  std::vector<std::unique_ptr<SocketClaim>> claims_;
  MetricsRegistry metrics_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Scheduler> scheduler_;
  LeaseStreams lease_streams_;
  DescriptorInbox descriptors_{{}, Clock::Real()};
  std::unique_ptr<LeaseLedger> ledger_;
  std::vector<std::unique_ptr<DescriptorSocket>> descriptor_sockets_;
  RpcEnvironment environment_{.clock = Clock::Real()};
  std::unique_ptr<RpcServer> rpc_;
};

}  // namespace

std::string ServerVersion() { return WINNOW_VERSION; }

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerConfig& config, std::function<void(absl::Duration timeout)> on_drain_request) {
  WINNOW_RETURN_IF_ERROR(config.Validate());
  auto server = std::make_unique<ServerImpl>();
  WINNOW_RETURN_IF_ERROR(server->Open(config, std::move(on_drain_request)));
  return server;
}

}  // namespace winnow::server
