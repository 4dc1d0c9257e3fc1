// One unary RPC being served on a completion queue: waits for a call, hands it to its method, sends
// the one reply, and deletes itself when gRPC has let go of it. Next: rpc_method.h for what a
// method does with it.

#ifndef WINNOW_SERVER_RPC_UNARY_CALL_H_
#define WINNOW_SERVER_RPC_UNARY_CALL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/async_unary_call.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/batching/scheduler.h"

namespace winnow::server {

class RpcMethod;
struct RpcEnvironment;

// What a completion queue gives back when something happened.
class CompletionTag {
 public:
  virtual ~CompletionTag() = default;
  virtual void OnEvent(bool ok) = 0;
};

// A completion queue that one thread polls. Operations are started on it with the lock held shared,
// until it is closed.
struct ServerQueue {
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  absl::Mutex mu;
  bool closed ABSL_GUARDED_BY(mu) = false;
};

// Thread safety: events arrive on the queue's thread, where the method's Serve runs; Finish may be
// called from any thread, once.
class UnaryCall {
 public:
  // Asks gRPC for the next call of `method`. All three outlive the calls.
  static void Post(RpcMethod& method, ServerQueue& queue, RpcEnvironment& environment);

  grpc::ByteBuffer& request() { return request_; }
  std::string peer() const { return context_.peer(); }
  // On the server's clock; InfiniteFuture when the caller set none.
  absl::Time deadline() const { return deadline_; }
  // Equal for calls of one connection.
  int64_t flow_id() const;

  // Names the queued task, so that cancelling the call cancels it. On the queue's thread, before
  // Serve returns.
  void SetTask(TaskId task) { task_ = task; }

  // Sends the reply when `status` is Ok and the error otherwise. The call must not be touched
  // afterwards.
  void Finish(const absl::Status& status, const grpc::ByteBuffer& reply);

 private:
  struct Tag final : CompletionTag {
    using Handler = void (UnaryCall::*)(bool ok);
    Tag(UnaryCall* owner, Handler handler_of_event) : call(owner), handler(handler_of_event) {}
    void OnEvent(bool ok) override { (call->*handler)(ok); }
    UnaryCall* const call;
    const Handler handler;
  };

  UnaryCall(RpcMethod& method, ServerQueue& queue, RpcEnvironment& environment);
  void OnArrived(bool ok);
  void OnDone(bool ok);
  void OnFinished(bool ok);
  void Release();

  RpcMethod& method_;
  ServerQueue& queue_;
  RpcEnvironment& environment_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_{&context_};
  Tag arrived_{this, &UnaryCall::OnArrived};
  Tag done_{this, &UnaryCall::OnDone};
  Tag finished_{this, &UnaryCall::OnFinished};
  absl::Time arrival_time_;
  absl::Time deadline_ = absl::InfiniteFuture();
  std::optional<TaskId> task_;
  std::atomic<int> events_to_come_{2};  // done and finished
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_UNARY_CALL_H_
