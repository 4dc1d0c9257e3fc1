// One unary RPC being served on a completion queue: waits for a call, hands it to its method, sends
// the one reply, and deletes itself when gRPC has let go of it. Next: rpc_method.h for what a
// method does with it.

#ifndef WINNOW_SERVER_RPC_UNARY_CALL_H_
#define WINNOW_SERVER_RPC_UNARY_CALL_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/async_unary_call.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/batching/scheduler.h"
#include "server/rpc/server_queue.h"

namespace winnow::server {

class RpcMethod;
struct RpcEnvironment;

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
  // Why its answer is wanted no more: the deadline passed or the caller went away. Ok otherwise.
  // What a call would make is not made for nobody.
  absl::Status GivenUp() const;
  // Equal for calls of one connection.
  int64_t flow_id();

  // Names the queued task and who queued it, so that cancelling the call cancels it. While Serve
  // runs, or the call is kept. Once.
  void SetTask(Scheduler& scheduler, TaskId task);

  // Keeps the call after Serve has returned and after Finish, until Release: for a thread that
  // serves it in Serve's stead.
  void Keep() { events_to_come_.fetch_add(1, std::memory_order_relaxed); }
  void Release();

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
  Scheduler* scheduler_ = nullptr;      // written before task_, read after it
  std::atomic<TaskId> task_{0};         // 0: none yet
  std::atomic<bool> cancelled_{false};  // by a caller that went away
  std::atomic<int> events_to_come_{2};  // done and finished
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_UNARY_CALL_H_
