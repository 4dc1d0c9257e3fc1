#include "server/app/server.h"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/app/connection_gate.h"
#include "server/app/device_set.h"
#include "server/app/http_server.h"
#include "server/app/listener.h"
#include "server/app/pages.h"
#include "server/app/plaintext_warning.h"
#include "server/app/server_metrics.h"
#include "server/base/clock.h"
#include "server/base/logging.h"
#include "server/base/metrics.h"
#include "server/resources/descriptor_socket.h"
#include "server/resources/lease_ledger.h"
#include "server/rpc/lease_streams.h"
#include "server/rpc/rpc_environment.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/slow_request_log.h"
#include "server/rpc/tls_credentials.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/plain_number.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

// Replies leave at once unless a peer does not read; such a one must not hold up the end.
constexpr absl::Duration kReplyPatience = absl::Seconds(2);

// Nor must one that goes on calling and hears that the server is draining.
constexpr absl::Duration kReplyTimeout = absl::Seconds(8);

int32_t QueueCount(int32_t asked) {
  if (asked > 0) return asked;
  return std::clamp<int32_t>(static_cast<int32_t>(std::thread::hardware_concurrency()) / 4, 1, 4);
}

// gRPC closes connections when its buffers reach this, so it must lie well above what the queues
// hold: a full queue is answered politely before.
int64_t TransportBytes(const ServerConfig& config, size_t devices) {
  return 2 * static_cast<int64_t>(devices) * config.max_queued_bytes + (int64_t{256} << 20);
}

std::vector<uid_t> AllowedUids(const ServerConfig& config) {
  std::vector<uid_t> uids;
  for (const std::string& text : config.allowed_uids) {
    uid_t uid = 0;
    if (ParsePlainNumber(text, uid)) uids.push_back(uid);
  }
  return uids;
}

TlsOptions TlsOptionsOf(const ServerConfig& config) {
  return {.certificate_path = config.tls_certificate,
          .key_path = config.tls_key,
          .client_ca_path = config.tls_client_ca,
          .mutual = config.tls_client_auth == "require",
          .allowed_names = config.tls_allowed_names,
          .reload_period = config.tls_reload};
}

class ServerImpl final : public Server {
 public:
  ~ServerImpl() override { Drain(absl::ZeroDuration()); }

  absl::Status Open(const ServerConfig& config,
                    std::function<void(absl::Duration timeout)> on_drain_request,
                    const BackendOpener& open_backend) {
    const absl::Time begin = environment_.clock->Now();
    RpcServerOptions options{.adopts = true,
                             .queues = QueueCount(config.queues),
                             .max_concurrent_streams = config.max_concurrent_streams};
    // Before the backend: an address that another program holds is known in microseconds.
    WINNOW_RETURN_IF_ERROR(OpenGate(config));
    WINNOW_RETURN_IF_ERROR(ListenForPages(config));
    if (config.has_tls()) {
      WINNOW_ASSIGN_OR_RETURN(options.tls, MakeTlsCredentials(TlsOptionsOf(config), metrics_));
    }
    WINNOW_ASSIGN_OR_RETURN(devices_, DeviceSet::Open(config, open_backend, environment_.clock));
    options.transport_memory_bytes = TransportBytes(config, devices_->served().size());
    FillEnvironment(config, std::move(on_drain_request));
    WINNOW_RETURN_IF_ERROR(ListenForDescriptors(config));
    WINNOW_ASSIGN_OR_RETURN(rpc_, RpcServer::Start(options, environment_));
    environment_.listeners = gate_->addresses();
    ServePages();
    SetSlowRequestThreshold(config.slow_request);
    gate_->Open([this](int fd, ConnectionKind kind) { rpc_->Adopt(fd, kind); });
    LogReady(config, environment_.clock->Now() - begin);
    return absl::OkStatus();
  }

  const std::vector<std::string>& addresses() const override { return gate_->addresses(); }

  absl::Status CheckHealth() override {
    absl::Status status = devices_->Healthy();
    if (!status.ok() && environment_.state != ServingState::kFailed) {
      environment_.state = ServingState::kFailed;
      rpc_->SetServing(false);
      Log(LogLevel::kError, "device lost", {{"error", status.message()}});
    }
    return status;
  }

  void DoPeriodicWork() override {
    plaintext_warning_.WarnIfDue();
    ledger_->ExpireGraces();
    descriptors_.DropExpired();
  }

  void Drain(absl::Duration timeout) override {
    if (rpc_ == nullptr) return;
    auto serving = ServingState::kServing;
    environment_.state.compare_exchange_strong(serving, ServingState::kDraining);
    rpc_->SetServing(false);
    // Before anybody is told: who knows of the drain must not have work accepted.
    devices_->BeginDrain();
    const SchedulerStats before = SumOfSchedulers(devices_->served());
    Log(LogLevel::kInfo, "draining",
        {{"queued", before.queued_tasks},
         {"running", before.running_tasks},
         {"timeout", absl::FormatDuration(timeout)}});
    lease_streams_.SendDraining(timeout);
    devices_->DrainSchedulers(environment_.clock->Now() + timeout);
    ledger_->Close("the server is draining");
    gate_->Close();
    rpc_->AwaitQuiet(kReplyPatience, kReplyTimeout);
    rpc_->Stop([this] { gate_->CutConnections(); });
    // Nobody ends a lease any more. Schedulers still report on threads of theirs that flows of
    // ended leases are idle, to the ledger, which must live until they have.
    devices_->DrainSchedulers(absl::InfinitePast());
    gate_ = nullptr;
    http_ = nullptr;  // pages show what is destroyed next
    devices_->DrainBackends();
    const SchedulerStats after = SumOfSchedulers(devices_->served());
    Log(LogLevel::kInfo, "stopped",
        {{"finished", after.completed - before.completed},
         {"cancelled", after.cancelled - before.cancelled}});
    descriptor_sockets_.clear();
    rpc_ = nullptr;
    ledger_ = nullptr;
    devices_ = nullptr;
    claims_.clear();
    admin_claims_.clear();
    http_claims_.clear();
  }

 private:
  absl::Status OpenGate(const ServerConfig& config) {
    allowed_uids_ = AllowedUids(config);
    ConnectionGateOptions options{.max_connections = config.max_connections,
                                  .allowed_uids = allowed_uids_};
    std::vector<std::string> listeners = config.listeners;
    if (listeners.empty() && config.insecure_listeners.empty()) {
      listeners.push_back(DefaultListener());
    }
    for (const std::string& text : listeners) {
      WINNOW_ASSIGN_OR_RETURN(const Listener listener,
                              ParseListener(text, MainListenerRule(config)));
      options.listeners.push_back({{.address = listener.address,
                                    .mode = config.socket_mode,
                                    .group = config.socket_group,
                                    .flag = listener.flag},
                                   config.has_tls() && listener.socket_path.empty()
                                       ? ConnectionKind::kTls
                                       : ConnectionKind::kPlain});
      if (listener.socket_path.empty()) continue;
      WINNOW_ASSIGN_OR_RETURN(auto claim, SocketClaim::Take(listener.socket_path, listener.flag));
      claims_.push_back(std::move(claim));
    }
    for (const std::string& text : config.insecure_listeners) {
      WINNOW_ASSIGN_OR_RETURN(const Listener listener, ParseListener(text, InsecureListenerRule()));
      options.listeners.push_back({{.address = listener.address, .flag = listener.flag}});
      if (listener.beyond_loopback) plaintext_warning_.Add(listener.address);
    }
    WINNOW_RETURN_IF_ERROR(AddAdminListeners(config, options));
    WINNOW_ASSIGN_OR_RETURN(gate_, ConnectionGate::Listen(std::move(options), metrics_));
    return absl::OkStatus();
  }

  absl::Status AddAdminListeners(const ServerConfig& config, ConnectionGateOptions& options) {
    for (const std::string& text : config.admin_listeners) {
      WINNOW_ASSIGN_OR_RETURN(const Listener listener, ParseListener(text, AdminListenerRule()));
      WINNOW_ASSIGN_OR_RETURN(auto claim, SocketClaim::Take(listener.socket_path, listener.flag));
      admin_claims_.push_back(std::move(claim));
      options.listeners.push_back(
          {{.address = listener.address, .mode = 0600, .flag = listener.flag},
           ConnectionKind::kAdmin});
      environment_.admin_listeners.push_back(listener.address);
    }
    return absl::OkStatus();
  }

  void FillEnvironment(const ServerConfig& config,
                       std::function<void(absl::Duration timeout)> on_drain_request) {
    environment_.devices = devices_->served();
    ledger_ = std::make_unique<LeaseLedger>(
        LeaseLedgerOptions{
            .max_leases = config.max_leases,
            .max_lease_bytes = std::min(config.max_lease_bytes, config.buffer_pool_bytes),
            .max_lease_resources = config.max_lease_resources,
            .max_lease_inflight = config.max_lease_requests,
            .devices = devices_->ForLeases(),
            .max_resume_grace = config.max_resume_grace},
        environment_.clock,
        [this](const LeaseEnding& ending, absl::AnyInvocable<void() &&> finished) {
          Log(LogLevel::kInfo, "lease ended", {{"lease", ending.number}, {"why", ending.message}});
          lease_streams_.SendEnded(ending.number, ending.cause, ending.message);
          devices_->served()[ending.device_place].scheduler->EndFlow(ending.number,
                                                                     std::move(finished));
        });
    environment_.ledger = ledger_.get();
    environment_.lease_streams = &lease_streams_;
    environment_.descriptors = &descriptors_;
    environment_.metrics = &metrics_;
    environment_.journal = &journal_;
    environment_.limits.max_inline_bytes = config.max_inline_bytes;
    environment_.limits.ordering = devices_->served()[0].backend->memory_sharing() != nullptr;
    environment_.version = ServerVersion();
    environment_.queue_limits = QueueLimits(config);
    environment_.start_time = environment_.clock->Now();
    environment_.tcp_admin = config.tcp_admin;
    environment_.begin_drain = std::move(on_drain_request);
  }

  absl::Status CheckUser(uid_t uid) const {
    if (UserAllowed(allowed_uids_, uid)) return absl::OkStatus();
    return MakeError(absl::StatusCode::kPermissionDenied, "this user may not hand over memory",
                     {.reason = ErrorReason::kPermissionDenied});
  }

  // One beside each Unix socket. A lease is told of the first; a client that dialled another one
  // looks beside that.
  absl::Status ListenForDescriptors(const ServerConfig& config) {
    WINNOW_ASSIGN_OR_RETURN(const std::optional<gid_t> group, FindSocketGroup(config.socket_group));
    for (const auto& claim : claims_) {
      WINNOW_ASSIGN_OR_RETURN(
          auto socket,
          DescriptorSocket::Listen({.path = absl::StrCat(claim->path(), ".fd"),
                                    .mode = config.socket_mode,
                                    .group = group},
                                   &descriptors_, [this](absl::string_view lease_id, uid_t uid) {
                                     WINNOW_RETURN_IF_ERROR(CheckUser(uid));
                                     return ledger_->Resources(lease_id).status();
                                   }));
      if (environment_.descriptor_socket_path.empty()) {
        environment_.descriptor_socket_path = socket->path();
      }
      descriptor_sockets_.push_back(std::move(socket));
    }
    return absl::OkStatus();
  }

  absl::Status ListenForPages(const ServerConfig& config) {
    HttpServerOptions options;
    for (const std::string& text : config.http_listeners) {
      WINNOW_ASSIGN_OR_RETURN(const Listener listener, ParseListener(text, HttpListenerRule()));
      options.listeners.push_back({.address = listener.address, .flag = listener.flag});
      if (listener.socket_path.empty()) continue;
      WINNOW_ASSIGN_OR_RETURN(auto claim, SocketClaim::Take(listener.socket_path, listener.flag));
      http_claims_.push_back(std::move(claim));
    }
    for (const std::string& text : config.insecure_http_listeners) {
      WINNOW_ASSIGN_OR_RETURN(const Listener listener,
                              ParseListener(text, ExposedHttpListenerRule()));
      options.listeners.push_back(
          {.address = listener.address, .exposed = true, .flag = listener.flag});
    }
    if (options.listeners.empty()) return absl::OkStatus();
    WINNOW_ASSIGN_OR_RETURN(http_, HttpServer::Listen(std::move(options)));
    return absl::OkStatus();
  }

  // Pages read the environment, so that it changes no more.
  void ServePages() {
    RegisterServerMetrics(environment_, metrics_);
    if (http_ == nullptr) return;
    http_->Open([this](const HttpRequest& request, bool exposed) {
      return ServePage(request, exposed, environment_);
    });
  }

  void LogReady(const ServerConfig& config, absl::Duration start_duration) const {
    Log(LogLevel::kInfo, "server ready",
        {{"version", environment_.version},
         {"backend", devices_->kind()},
         {"device", devices_->Names()},
         {"mps", devices_->MpsState()},
         {"why", devices_->served()[0].backend->info().choice_reason},
         {"listeners", absl::StrJoin(gate_->addresses(), ",")},
         {"tls", config.has_tls() ? "1.3" : "none"},
         {"http", http_ == nullptr ? "none" : absl::StrJoin(http_->addresses(), ",")},
         {"max_inline_bytes", config.max_inline_bytes},
         {"max_queued_requests", config.max_queued_requests},
         {"max_queued_bytes", config.max_queued_bytes},
         {"start_millis", absl::ToInt64Milliseconds(start_duration)}});
  }

  // In the order in which they are needed, so that they are destroyed in the reverse one.
  std::vector<std::unique_ptr<SocketClaim>> claims_;
  std::vector<std::unique_ptr<SocketClaim>> admin_claims_;
  std::vector<std::unique_ptr<SocketClaim>> http_claims_;
  std::vector<uid_t> allowed_uids_;
  PlaintextWarning plaintext_warning_{Clock::Real()};
  MetricsRegistry metrics_;
  ErrorJournal journal_{metrics_, Clock::Real()};
  std::unique_ptr<DeviceSet> devices_;
  LeaseStreams lease_streams_;
  DescriptorInbox descriptors_{{}, Clock::Real()};
  std::unique_ptr<LeaseLedger> ledger_;
  std::vector<std::unique_ptr<DescriptorSocket>> descriptor_sockets_;
  RpcEnvironment environment_{.clock = Clock::Real()};
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<ConnectionGate> gate_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace

std::string ServerVersion() { return WINNOW_VERSION; }

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerConfig& config, std::function<void(absl::Duration timeout)> on_drain_request,
    const BackendOpener& open_backend) {
  WINNOW_RETURN_IF_ERROR(config.Validate());
  auto server = std::make_unique<ServerImpl>();
  WINNOW_RETURN_IF_ERROR(server->Open(config, std::move(on_drain_request), open_backend));
  return server;
}

}  // namespace winnow::server
