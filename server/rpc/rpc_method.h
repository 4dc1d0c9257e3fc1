// One unary RPC of a service. Two kinds: an ImmediateMethod answers on the queue's thread; a
// QueuedMethod decodes its request into a work item, submits it, and encodes the result when the
// task is done. An RPC is one line that names its functions: see indexer_methods.cc and
// admin_methods.cc.

#ifndef WINNOW_SERVER_RPC_RPC_METHOD_H_
#define WINNOW_SERVER_RPC_RPC_METHOD_H_

#include <atomic>
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
#include "server/rpc/message_bytes.h"
#include "server/rpc/rpc_environment.h"
#include "server/rpc/unary_call.h"

namespace winnow::server {

class RpcMethod {
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

  const std::string& name() const { return name_; }
  int64_t ok_count() const { return ok_count_->value(); }
  int64_t error_count() const { return error_count_->value(); }
  const Histogram& durations() const { return *durations_; }
  // Calls whose reply gRPC has not sent yet.
  int64_t in_flight() const { return in_flight_.load(std::memory_order_acquire); }

  // Events of a call, from UnaryCall.
  void AskForCall(grpc::ServerContext* context, grpc::ByteBuffer* bytes,
                  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* writer,
                  grpc::ServerCompletionQueue* queue, void* tag) {
    request_(context, bytes, writer, queue, tag);
  }
  void OnArrival() { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  void OnReply(const absl::Status& status, absl::Duration duration);
  void OnGone() { in_flight_.fetch_sub(1, std::memory_order_release); }

 protected:
  RpcEnvironment& environment() { return environment_; }

 private:
  const std::string name_;
  const RequestFunction request_;
  RpcEnvironment& environment_;
  Counter* const ok_count_;
  Counter* const error_count_;
  Histogram* const durations_;
  std::atomic<int64_t> in_flight_{0};
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

  ImmediateMethod(std::string name, RequestFunction request, RpcEnvironment& environment,
                  Answer answer)
      : RpcMethod(std::move(name), std::move(request), environment), answer_(std::move(answer)) {}

  void Serve(UnaryCall& call) override {
    CallMemory memory;
    auto* request = google::protobuf::Arena::CreateMessage<Request>(&memory.arena());
    auto* response = google::protobuf::Arena::CreateMessage<Response>(&memory.arena());
    grpc::ByteBuffer reply;
    absl::Status status = ParseMessage(
        call.request(), environment().limits.max_inline_bytes + kMessageOverheadBytes, *request);
    if (status.ok()) status = answer_(call, *request, *response);
    if (status.ok()) status = SerializeMessage(*response, reply);
    call.Finish(status, reply);
  }

 private:
  const Answer answer_;
};

// How a queued RPC turns its messages into work and back.
template <typename Request, typename Response>
struct QueuedFunctions {
  absl::StatusOr<WorkItem> (*decode)(const Request&, const DecodeLimits&);
  void (*encode)(WorkItem& item, Response&);
  // An error that batching or the backend gave, with its field named as in the request.
  absl::Status (*rename)(const absl::Status&, const WorkItem& item);
};

template <typename Request, typename Response>
class QueuedMethod final : public RpcMethod {
 public:
  QueuedMethod(std::string name, RequestFunction request, RpcEnvironment& environment,
               QueuedFunctions<Request, Response> functions)
      : RpcMethod(std::move(name), std::move(request), environment), functions_(functions) {}

  void Serve(UnaryCall& call) override {
    const absl::Status status = Submit(call);
    if (!status.ok()) call.Finish(status, {});
  }

 private:
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
    absl::StatusOr<WorkItem> item = functions_.decode(*request, limits);
    if (!item.ok()) return item.status();
    if (absl::Status status = CheckItem(*item); !status.ok()) {
      return functions_.rename(status, *item);
    }
    item->keep_alive = memory;
    auto task = std::make_unique<Task>();
    task->work = *std::move(item);
    task->flow_id = call.flow_id();
    task->deadline = call.deadline();
    task->done = [this, &call, memory = std::move(memory)](std::unique_ptr<Task> done) {
      Reply(call, done->work, memory->arena());
    };
    const absl::StatusOr<TaskId> id = environment().scheduler->Submit(task);
    if (!id.ok()) return id.status();
    call.SetTask(*id);
    return absl::OkStatus();
  }

  void Reply(UnaryCall& call, WorkItem& item, google::protobuf::Arena& arena) {
    if (!item.status.ok()) return call.Finish(functions_.rename(item.status, item), {});
    auto* response = google::protobuf::Arena::CreateMessage<Response>(&arena);
    functions_.encode(item, *response);
    grpc::ByteBuffer reply;
    const absl::Status status = SerializeMessage(*response, reply);
    call.Finish(status, reply);
  }

  const QueuedFunctions<Request, Response> functions_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_RPC_METHOD_H_
