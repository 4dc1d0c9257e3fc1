#include "server/rpc/rpc_server.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "grpc/grpc.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_posix.h"
#include "server/base/worker_thread.h"
#include "server/rpc/admin_methods.h"
#include "server/rpc/buffer_streams.h"
#include "server/rpc/byte_stream_call.h"
#include "server/rpc/execute_stream.h"
#include "server/rpc/health_board.h"
#include "server/rpc/indexer_methods.h"
#include "server/rpc/lease_methods.h"
#include "server/rpc/lease_stream.h"
#include "server/rpc/memory_methods.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/unary_call.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

// Calls of one method that a queue asks for ahead; each that arrives asks for its successor, so the
// number matters only for bursts.
constexpr int kCallsAhead = 2;

// What Stop leaves to streams that are still open, so that a watcher of Health reads NOT_SERVING
// before its stream ends. Without such streams Stop does not wait.
constexpr std::chrono::milliseconds kLastWords(200);

// Between two looks of AwaitQuiet.
constexpr absl::Duration kLookPeriod = absl::Milliseconds(1);

// After them each connection that is read closes within microseconds.
constexpr absl::Duration kCloseTimeout = absl::Seconds(1);

// A message above this is refused by the transport, without an error detail; up to it the server
// itself says which field is too large.
int64_t MaxMessageBytes(const RpcEnvironment& environment) {
  return std::min<int64_t>(2 * environment.limits.max_inline_bytes + 4 * kMessageOverheadBytes,
                           std::numeric_limits<int32_t>::max());
}

class RpcServerImpl final : public RpcServer {
 public:
  explicit RpcServerImpl(RpcEnvironment& environment)
      : environment_(environment),
        stream_commands_(absl::StrCat(v1::IndexerService::service_full_name(), "/ExecuteStream"),
                         *environment.metrics, environment.journal),
        stream_stages_(stream_commands_.name(), *environment.metrics) {}

  ~RpcServerImpl() override {
    Stop([] {});
  }

  absl::Status Open(const RpcServerOptions& options) {
    grpc::ServerBuilder builder;
    Configure(options, builder);
    std::vector<int> ports(options.listeners.size(), 0);
    for (size_t i = 0; i < ports.size(); ++i) {
      builder.AddListeningPort(options.listeners[i], grpc::InsecureServerCredentials(), &ports[i]);
    }
    using Kind = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    if (options.adopts) {
      plain_ = builder.experimental().AddExternalConnectionAcceptor(
          Kind::FROM_FD, grpc::InsecureServerCredentials());
    }
    if (options.tls != nullptr) {
      tls_ = builder.experimental().AddExternalConnectionAcceptor(Kind::FROM_FD, options.tls);
    }
    for (int32_t i = 0; i < options.queues; ++i) {
      queues_.push_back(std::make_unique<ServerQueue>());
      queues_.back()->queue = builder.AddCompletionQueue();
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return CannotListen(options.listeners, ports);
    for (size_t i = 0; i < ports.size(); ++i) {
      addresses_.push_back(WithPort(options.listeners[i], ports[i]));
    }
    environment_.listeners = addresses_;
    Serve();
    return absl::OkStatus();
  }

  const std::vector<std::string>& addresses() const override { return addresses_; }

  void Adopt(int fd, ConnectionKind kind) override {
    if (kind == ConnectionKind::kAdmin) return grpc::AddInsecureChannelFromFd(server_.get(), fd);
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = fd;
    (kind == ConnectionKind::kTls ? tls_ : plain_)->HandleNewConnection(&connection);
  }

  void SetServing(bool serving) override {
    if (!serving) answered_while_serving_ = Answered();
    health_.SetServing(serving);
  }

  void AwaitQuiet(absl::Duration patience, absl::Duration limit) override {
    int64_t seen = Answered();
    absl::Duration quiet;
    absl::Duration stalled;
    // A look now and then is as good here as a signal, which every call would have to pay for.
    // Looks are counted, not the time between them, in which the queues may not have run either;
    // but whoever ends the server counts the time.
    const absl::Time end = absl::Now() + limit;
    while (absl::Now() < end && stalled < patience) {
      absl::SleepFor(kLookPeriod);
      const int64_t answered = Answered();
      const bool moved = answered != seen;
      seen = answered;
      stalled = moved ? absl::ZeroDuration() : stalled + kLookPeriod;
      quiet = moved || InFlight() != 0 ? absl::ZeroDuration() : quiet + kLookPeriod;
      if (quiet >= (answered == answered_while_serving_ ? kQuietTime : kBusyQuietTime)) return;
    }
  }

  void Stop(absl::AnyInvocable<void() &&> cut_connections) override {
    if (server_ == nullptr) return;
    health_.Close();
    absl::Notification closed;
    std::thread impatience([&] {
      if (!closed.WaitForNotificationWithTimeout(kCloseTimeout)) std::move(cut_connections)();
    });
    server_->Shutdown(std::chrono::system_clock::now() + kLastWords);
    closed.Notify();
    impatience.join();
    for (auto& queue : queues_) {
      absl::MutexLock lock(&queue->mu);
      queue->closed = true;
      queue->queue->Shutdown();
    }
    for (std::thread& thread : threads_) thread.join();
    // What they still have finds its queue closed.
    large_requests_.reset();
    worker_.reset();
    server_.reset();
  }

 private:
  void Configure(const RpcServerOptions& options, grpc::ServerBuilder& builder) {
    // The services register themselves with every builder that comes after the first call.
    static std::once_flag once;
    std::call_once(once, [] {
      // One reference that is never given back: the clean-up after the last one may wait ten
      // seconds for a helper thread that polls a connection, and would delay the end of the
      // process.
      grpc_init();
    });
    builder.RegisterService(&indexer_service_);
    builder.RegisterService(&lease_service_);
    builder.RegisterService(&memory_service_);
    builder.RegisterService(&admin_service_);
    builder.RegisterAsyncGenericService(&other_methods_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(MaxMessageBytes(environment_)));
    builder.SetMaxSendMessageSize(-1);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, options.max_metadata_bytes);
    // Two servers on one port would share the calls between them without a word.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // A compressed message may be a thousand times larger than its bytes: neither inflated nor
    // accepted.
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    // A dead peer is noticed within half a minute also while it has nothing to say.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
    grpc::ResourceQuota quota("winnow");
    quota.Resize(static_cast<size_t>(options.transport_memory_bytes));
    builder.SetResourceQuota(quota);
  }

  void Serve() {
    environment_.stream_commands = &stream_commands_;
    environment_.stream_stages = &stream_stages_;
    environment_.large_requests = large_requests_.get();
    methods_ = MakeIndexerMethods(indexer_service_, environment_);
    for (auto& method : MakeMemoryMethods(memory_service_, environment_, *worker_)) {
      methods_.push_back(std::move(method));
    }
    methods_.push_back(MakeCloseLease(lease_service_, environment_));
    for (auto& method : MakeAdminMethods(admin_service_, environment_, meters_)) {
      methods_.push_back(std::move(method));
    }
    for (const auto& method : methods_) meters_.push_back(method.get());
    meters_.push_back(&stream_commands_);
    for (auto& queue : queues_) {
      for (int i = 0; i < kCallsAhead; ++i) PostAll(*queue);
      ByteStreamCall::Post(other_methods_, *queue, health_);
      threads_.emplace_back([&queue = *queue] { queue.Poll(); });
    }
  }

  void PostAll(ServerQueue& queue) {
    for (auto& method : methods_) UnaryCall::Post(*method, queue, environment_);
    PostStream<ExecuteStream>(indexer_service_, queue, environment_);
    PostStream<LeaseStream>(lease_service_, queue, environment_);
    PostStream<WriteBufferStream>(memory_service_, queue, environment_);
    PostStream<ReadBufferStream>(memory_service_, queue, environment_);
  }

  int64_t InFlight() const {
    int64_t calls = 0;
    for (const RpcMeter* meter : meters_) calls += meter->in_flight();
    return calls;
  }

  int64_t Answered() const {
    int64_t calls = 0;
    for (const RpcMeter* meter : meters_) calls += meter->ok_count() + meter->error_count();
    return calls;
  }

  static std::string WithPort(const std::string& listener, int port) {
    if (absl::StartsWith(listener, "unix:")) return listener;
    return absl::StrCat(listener.substr(0, listener.rfind(':')), ":", port);
  }

  static absl::Status CannotListen(const std::vector<std::string>& listeners,
                                   const std::vector<int>& ports) {
    // gRPC gives 0 to the one that failed and to those after it.
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i] != 0) continue;
      return MakeError(
          absl::StatusCode::kUnavailable,
          absl::StrCat("cannot listen on ", listeners[i],
                       "; see that the address is this host's and that no other server has it"),
          {.reason = ErrorReason::kValueOutOfRange, .field = "--listen", .value = listeners[i]});
    }
    return absl::InternalError("the gRPC server did not start");
  }

  RpcEnvironment& environment_;
  RawIndexerService indexer_service_;
  RawLeaseService lease_service_;
  RawMemoryService memory_service_;
  RawAdminService admin_service_;
  grpc::AsyncGenericService other_methods_;  // health, reflection, and what does not exist
  HealthBoard health_{
      {v1::IndexerService::service_full_name(), v1::LeaseService::service_full_name(),
       v1::MemoryService::service_full_name(), v1::AdminService::service_full_name()}};
  // For calls that fill memory, and for those that take long to parse.
  std::unique_ptr<WorkerThread> worker_ = std::make_unique<WorkerThread>();
  std::unique_ptr<WorkerThread> large_requests_ = std::make_unique<WorkerThread>();
  RpcMeter stream_commands_;
  StageMeter stream_stages_;
  std::vector<const RpcMeter*> meters_;
  std::atomic<int64_t> answered_while_serving_ = 0;
  std::vector<std::unique_ptr<RpcMethod>> methods_;
  std::vector<std::unique_ptr<ServerQueue>> queues_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> plain_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> tls_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;
  std::vector<std::string> addresses_;
};

}  // namespace

// gRPC names Unix peers without their listener ("unix:"), and those that it is given by
// AddInsecureChannelFromFd by their descriptor. No peer can choose its name.
bool IsAdminPeer(absl::string_view peer) { return absl::StartsWith(peer, "fd:"); }

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcServerOptions& options,
                                                            RpcEnvironment& environment) {
  auto server = std::make_unique<RpcServerImpl>(environment);
  if (absl::Status status = server->Open(options); !status.ok()) return status;
  return server;
}

}  // namespace winnow::server
