#include "client/src/connection_impl.h"

#include <stop_token>
#include <utility>

#include "client/src/call_settings.h"
#include "client/src/lease_connection_impl.h"
#include "client/src/lease_gate.h"
#include "client/src/lease_keeper.h"
#include "client/src/rpc.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

struct ForwardStop {
  std::stop_source target;
  void operator()() { target.request_stop(); }
};
using StopForwarder = std::stop_callback<ForwardStop>;

// What an asynchronous call holds until its future has the result.
template <typename Rpc>
class OpenCall {
 public:
  OpenCall(std::shared_ptr<const Transport> transport, std::shared_ptr<InFlight> in_flight,
           const std::stop_token& stop)
      : transport_(std::move(transport)),
        in_flight_(std::move(in_flight)),
        caller_stop_(stop, ForwardStop{promise_.stop_source()}),
        closing_(in_flight_->closing(), ForwardStop{promise_.stop_source()}) {
    in_flight_->Begin();
  }
  ~OpenCall() {
    // In this order: a connection that closes waits for End, then frees the last of the transport
    // in its own thread.
    transport_.reset();
    in_flight_->End();
  }

  Future<typename Rpc::Result> future() { return promise_.future(); }
  std::stop_token stop_token() const { return promise_.stop_source().get_token(); }

  void Finish(const absl::Status& status, google::protobuf::MessageLite& response) {
    promise_.Set(Result(status, static_cast<typename Rpc::ResponseMessage&>(response)));
  }

 private:
  static absl::StatusOr<typename Rpc::Result> Result(const absl::Status& status,
                                                     typename Rpc::ResponseMessage& response) {
    WINNOW_RETURN_IF_ERROR(status);
    typename Rpc::Result result{};
    WINNOW_RETURN_IF_ERROR(Decode(response, result));
    return result;
  }

  std::shared_ptr<const Transport> transport_;
  const std::shared_ptr<InFlight> in_flight_;
  Promise<typename Rpc::Result> promise_;
  StopForwarder caller_stop_;
  StopForwarder closing_;
};

}  // namespace

ConnectionImpl::ConnectionImpl(ClientOptions options, std::shared_ptr<const Transport> transport,
                               std::shared_ptr<LeaseCore> lease)
    : options_(std::move(options)),
      transport_(std::move(transport)),
      in_flight_(std::make_shared<InFlight>()),
      lease_(std::move(lease)) {}

ConnectionImpl::~ConnectionImpl() {
  in_flight_->Close();
  // On the completion thread the calls can only end after this returns; they keep the transport.
  if (transport_->completions != nullptr && transport_->completions->IsCurrent()) return;
  in_flight_->AwaitNone();
}

template <typename Rpc>
absl::Status ConnectionImpl::EncodeRequest(const Rpc&, const typename Rpc::Request& request,
                                           typename Rpc::RequestMessage& message,
                                           CallSettings& settings) const {
  ResourceBindings bindings;
  if constexpr (requires { Encode(request, message, &bindings); }) {
    if (lease_ != nullptr) {
      WINNOW_RETURN_IF_ERROR(Encode(request, message, &bindings));
      settings.gate = std::make_shared<LeaseGate>(lease_, transport_->environment.clock,
                                                  std::move(bindings), message.mutable_lease_id());
      return absl::OkStatus();
    }
  }
  return Encode(request, message);
}

template <typename Rpc>
absl::StatusOr<typename Rpc::Result> ConnectionImpl::Run(const Rpc& rpc,
                                                         const typename Rpc::Request& request,
                                                         const CallOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(CallSettings settings,
                          MakeCallSettings(options_, options, rpc.method, rpc.repeat));
  typename Rpc::RequestMessage message;
  WINNOW_RETURN_IF_ERROR(EncodeRequest(rpc, request, message, settings));
  typename Rpc::ResponseMessage response;
  WINNOW_RETURN_IF_ERROR(
      RunCall(transport_->environment, settings, options.stop, message, response));
  typename Rpc::Result result{};
  WINNOW_RETURN_IF_ERROR(Decode(response, result));
  return result;
}

template <typename Rpc>
Future<typename Rpc::Result> ConnectionImpl::Start(const Rpc& rpc,
                                                   const typename Rpc::Request& request,
                                                   const CallOptions& options) {
  using Result = typename Rpc::Result;
  auto settings = MakeCallSettings(options_, options, rpc.method, rpc.repeat);
  if (!settings.ok()) return ReadyFuture<Result>(settings.status());
  auto message = std::make_unique<typename Rpc::RequestMessage>();
  if (const absl::Status status = EncodeRequest(rpc, request, *message, *settings); !status.ok()) {
    return ReadyFuture<Result>(status);
  }
  auto call = std::make_unique<OpenCall<Rpc>>(transport_, in_flight_, options.stop);
  Future<Result> future = call->future();
  std::stop_token stop = call->stop_token();
  StartCall(transport_->environment, *std::move(settings), std::move(stop),
            {std::move(message), std::make_unique<typename Rpc::ResponseMessage>()},
            [call = std::move(call)](const absl::Status& status, AsyncMessages messages) {
              call->Finish(status, *messages.response);
            });
  return future;
}

absl::StatusOr<PlanTopKResult> ConnectionImpl::PlanTopK(const PlanTopKRequest& request,
                                                        const CallOptions& options) {
  return Run(kPlanTopK, request, options);
}

absl::StatusOr<TopKResult> ConnectionImpl::TopK(const TopKRequest& request,
                                                const CallOptions& options) {
  return Run(kTopK, request, options);
}

absl::StatusOr<BlockAmaxResult> ConnectionImpl::BlockAmax(const BlockAmaxRequest& request,
                                                          const CallOptions& options) {
  return Run(kBlockAmax, request, options);
}

absl::StatusOr<SortCandidateBlocksResult> ConnectionImpl::SortCandidateBlocks(
    const SortCandidateBlocksRequest& request, const CallOptions& options) {
  return Run(kSortCandidateBlocks, request, options);
}

absl::StatusOr<PublishCandidatesResult> ConnectionImpl::PublishCandidates(
    const PublishCandidatesRequest& request, const CallOptions& options) {
  return Run(kPublishCandidates, request, options);
}

absl::StatusOr<ConsumeCandidatesResult> ConnectionImpl::ConsumeCandidates(
    const ConsumeCandidatesRequest& request, const CallOptions& options) {
  return Run(kConsumeCandidates, request, options);
}

absl::StatusOr<ExecuteResult> ConnectionImpl::Execute(const ExecuteRequest& request,
                                                      const CallOptions& options) {
  return Run(kExecute, request, options);
}

Future<PlanTopKResult> ConnectionImpl::AsyncPlanTopK(const PlanTopKRequest& request,
                                                     const CallOptions& options) {
  return Start(kPlanTopK, request, options);
}

Future<TopKResult> ConnectionImpl::AsyncTopK(const TopKRequest& request,
                                             const CallOptions& options) {
  return Start(kTopK, request, options);
}

Future<BlockAmaxResult> ConnectionImpl::AsyncBlockAmax(const BlockAmaxRequest& request,
                                                       const CallOptions& options) {
  return Start(kBlockAmax, request, options);
}

Future<SortCandidateBlocksResult> ConnectionImpl::AsyncSortCandidateBlocks(
    const SortCandidateBlocksRequest& request, const CallOptions& options) {
  return Start(kSortCandidateBlocks, request, options);
}

Future<PublishCandidatesResult> ConnectionImpl::AsyncPublishCandidates(
    const PublishCandidatesRequest& request, const CallOptions& options) {
  return Start(kPublishCandidates, request, options);
}

Future<ConsumeCandidatesResult> ConnectionImpl::AsyncConsumeCandidates(
    const ConsumeCandidatesRequest& request, const CallOptions& options) {
  return Start(kConsumeCandidates, request, options);
}

Future<ExecuteResult> ConnectionImpl::AsyncExecute(const ExecuteRequest& request,
                                                   const CallOptions& options) {
  return Start(kExecute, request, options);
}

absl::StatusOr<std::shared_ptr<LeaseConnection>> ConnectionImpl::OpenLease(
    const LeaseOptions& lease, const CallOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(CallSettings settings,
                          MakeCallSettings(options_, options, "", Repeat::kSafe));
  auto core = std::make_shared<LeaseCore>();
  const LeaseChannel channel = {.environment = &transport_->environment, .owner = transport_};
  auto keeper = std::make_shared<LeaseKeeper>(channel, lease, core);
  WINNOW_RETURN_IF_ERROR(keeper->Open(std::move(settings), options.stop));
  auto operations =
      std::make_shared<ConnectionImpl>(options_, TransportOfLease(transport_, options_), core);
  return std::make_shared<LeaseConnectionImpl>(options_, channel, std::move(core),
                                               std::move(keeper), std::move(operations));
}

absl::StatusOr<ServerInfo> ConnectionImpl::GetServerInfo(const CallOptions& options) {
  return Run(kGetServerInfo, NoFields(), options);
}

absl::StatusOr<ServerStats> ConnectionImpl::GetStats(const CallOptions& options) {
  return Run(kGetStats, NoFields(), options);
}

absl::StatusOr<int32_t> ConnectionImpl::ProbeOccupancy(const ProbeOccupancyRequest& request,
                                                       const CallOptions& options) {
  return Run(kProbeOccupancy, request, options);
}

absl::StatusOr<DrainResult> ConnectionImpl::Drain(const DrainRequest& request,
                                                  const CallOptions& options) {
  return Run(kDrain, request, options);
}

absl::StatusOr<std::vector<LeaseDescription>> ConnectionImpl::ListLeases(
    const CallOptions& options) {
  return Run(kListLeases, NoFields(), options);
}

absl::Status ConnectionImpl::EndLease(const EndLeaseRequest& request, const CallOptions& options) {
  return Run(kEndLease, request, options).status();
}

absl::StatusOr<HealthStatus> ConnectionImpl::Health(const std::string& service,
                                                    const CallOptions& options) {
  absl::StatusOr<HealthStatus> status = Run(kHealth, service, options);
  // The health protocol's way to say so for Check.
  if (absl::IsNotFound(status.status())) return HealthStatus::kServiceUnknown;
  return status;
}

}  // namespace winnow::client
