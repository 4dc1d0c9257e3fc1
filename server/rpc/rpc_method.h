// One unary RPC of a service. Two kinds: an ImmediateMethod answers on the queue's thread or on a
// worker; a QueuedMethod decodes its request into a work item, submits it, and encodes the result
// when the task is done. An RPC is one line that names its functions: see indexer_methods.cc and
// admin_methods.cc.

#ifndef WINNOW_SERVER_RPC_RPC_METHOD_H_
#define WINNOW_SERVER_RPC_RPC_METHOD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "google/protobuf/arena.h"
#include "server/backend/work_key.h"
#include "server/base/metrics.h"
#include "server/base/worker_thread.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/request_resources.h"
#include "server/rpc/rpc_environment.h"
#include "server/rpc/rpc_meter.h"
#include "server/rpc/stage_meter.h"
#include "server/rpc/unary_call.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {

class RpcMethod : public RpcMeter {
 public:
  // Asks the service for the next call.
  using RequestFunction = std::function<void(grpc::ServerContext*, grpc::ByteBuffer*,
                                             grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>*,
                                             grpc::ServerCompletionQueue*, void* tag)>;

  // `name` is the full method name without its leading slash.
  RpcMethod(std::string name, RequestFunction request, RpcEnvironment& environment);
  virtual ~RpcMethod() = default;

  // Answers the call, now or later, by calling Finish once.
  virtual void Serve(UnaryCall& call) = 0;

  void AskForCall(grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* writer,
                  grpc::ServerCompletionQueue* queue, void* tag) {
    request_(context, bytes, writer, queue, tag);
  }

 protected:
  RpcEnvironment& environment() { return environment_; }

 private:
  const RequestFunction request_;
  RpcEnvironment& environment_;
};

// Binds a raw request method of a generated service.
template <typename Service, typename Base>
RpcMethod::RequestFunction BindRequest(
    Service& service,
    void (Base::*request)(grpc::ServerContext*, grpc::ByteBuffer*,
                          grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>*,
                          grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*)) {
  return [&service, request](grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                             grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* writer,
                             grpc::ServerCompletionQueue* queue, void* tag) {
    (service.*request)(context, bytes, writer, queue, queue, tag);
  };
}

// Holds the messages of one call: small ones need no further allocation.
class CallMemory {
 public:
  // Written out, or make_shared would fill the block with zeros for every call.
  CallMemory() {}  // NOLINT(modernize-use-equals-default)
  google::protobuf::Arena& arena() { return arena_; }

 private:
  alignas(8) char block_[2048];
  google::protobuf::Arena arena_{block_, sizeof(block_)};
};

// Refuses with SERVER_DRAINING unless the server serves.
absl::Status CheckServing(const RpcEnvironment& environment);

template <typename Request, typename Response>
class ImmediateMethod final : public RpcMethod {
 public:
  using Answer = std::function<absl::Status(const UnaryCall&, const Request&, Response&)>;

  // `worker` runs the answers, for those that take longer than a queue's thread may be away; null:
  // the queue's thread does.
  ImmediateMethod(std::string name, RequestFunction request, RpcEnvironment& environment,
                  Answer answer, WorkerThread* worker = nullptr)
      : RpcMethod(std::move(name), std::move(request), environment),
        answer_(std::move(answer)),
        worker_(worker) {}

  void Serve(UnaryCall& call) override {
    if (worker_ == nullptr) return ServeHere(call);
    worker_->Run([this, &call] { ServeHere(call); });
  }

 private:
  void ServeHere(UnaryCall& call) {
    CallMemory memory;
    auto* request = google::protobuf::Arena::CreateMessage<Request>(&memory.arena());
    auto* response = google::protobuf::Arena::CreateMessage<Response>(&memory.arena());
    grpc::ByteBuffer reply;
    absl::Status status = call.GivenUp();
    if (status.ok()) {
      status = ParseMessage(
          call.request(), environment().limits.max_inline_bytes + kMessageOverheadBytes, *request);
    }
    if (status.ok()) status = answer_(call, *request, *response);
    if (status.ok()) status = SerializeMessage(*response, reply);
    call.Finish(status, reply);
  }

  const Answer answer_;
  WorkerThread* const worker_;
};

// How a queued RPC turns its messages into work and back.
template <typename Request, typename Response>
struct QueuedFunctions {
  absl::StatusOr<WorkItem> (*decode)(const Request&, const DecodeLimits&, RequestResources*);
  void (*encode)(WorkItem& item, Response&);
  // An error that batching or the backend gave, with its field named as in the request.
  absl::Status (*rename)(const absl::Status&, const WorkItem& item);
};

template <typename Request, typename Response>
class QueuedMethod final : public RpcMethod {
 public:
  QueuedMethod(std::string name, RequestFunction request, RpcEnvironment& environment,
               QueuedFunctions<Request, Response> functions)
      : RpcMethod(std::move(name), std::move(request), environment),
        functions_(functions),
        stages_(this->name(), *environment.metrics) {}

  void Serve(UnaryCall& call) override {
    if (static_cast<int64_t>(call.request().Length()) <= kMaxQuickBytes) return ServeHere(call);
    call.Keep();
    environment().large_requests->Run([this, &call] {
      ServeHere(call);
      call.Release();
    });
  }

 private:
  void ServeHere(UnaryCall& call) {
    const absl::Status status = Submit(call);
    if (!status.ok()) call.Finish(status, {});
  }

  // Not Ok: the call is still to be finished.
  absl::Status Submit(UnaryCall& call) {
    // Shared, because the item keeps the request alive and the reply is made beside it.
    auto memory = std::make_shared<CallMemory>();
    auto* request = google::protobuf::Arena::CreateMessage<Request>(&memory->arena());
    const DecodeLimits& limits = environment().limits;
    if (absl::Status status =
            ParseMessage(call.request(), limits.max_inline_bytes + kMessageOverheadBytes, *request);
        !status.ok()) {
      return status;
    }
    std::shared_ptr<RequestResources> resources;
    if (!request->lease_id().empty()) {
      WINNOW_ASSIGN_OR_RETURN(resources,
                              RequestResources::Open(*environment().ledger, request->lease_id()));
    }
    absl::StatusOr<WorkItem> item = functions_.decode(*request, limits, resources.get());
    if (!item.ok()) return item.status();
    if (absl::Status status = CheckItem(*item); !status.ok()) {
      return functions_.rename(status, *item);
    }
    item->keep_alive = memory;
    auto task = std::make_unique<Task>();
    task->work = *std::move(item);
    task->flow_id = resources == nullptr ? call.flow_id() : resources->flow_id();
    task->flow_weight = resources == nullptr ? 1 : resources->flow_weight();
    task->deadline = call.deadline();
    Scheduler& scheduler = *DeviceForRequest(environment(), resources.get()).scheduler;
    task->done = [this, &call, memory = std::move(memory),
                  resources = std::move(resources)](std::unique_ptr<Task> done) {
      if (resources != nullptr) {
        done->work.status.Update(resources->Intact());
        resources->LetGo();
      }
      Reply(call, done->work, memory->arena());
    };
    const absl::StatusOr<TaskId> id = scheduler.Submit(task);
    if (!id.ok()) return id.status();
    call.SetTask(scheduler, *id);
    return absl::OkStatus();
  }

  void Reply(UnaryCall& call, WorkItem& item, google::protobuf::Arena& arena) {
    if (!item.status.ok()) return call.Finish(functions_.rename(item.status, item), {});
    stages_.Observe(item.timing);
    auto* response = google::protobuf::Arena::CreateMessage<Response>(&arena);
    functions_.encode(item, *response);
    grpc::ByteBuffer reply;
    const absl::Status status = SerializeMessage(*response, reply);
    call.Finish(status, reply);
  }

  const QueuedFunctions<Request, Response> functions_;
  StageMeter stages_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_RPC_METHOD_H_
