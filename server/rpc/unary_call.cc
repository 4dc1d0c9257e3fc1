#include "server/rpc/unary_call.h"

#include <chrono>

#include "server/batching/task_errors.h"
#include "server/rpc/connection_flow.h"
#include "server/rpc/rpc_environment.h"
#include "server/rpc/rpc_method.h"
#include "server/rpc/slow_request_log.h"
#include "server/rpc/status_mapping.h"

namespace winnow::server {
namespace {

// gRPC counts deadlines on the system's clock, the server on its own.
absl::Time DeadlineOnClock(std::chrono::system_clock::time_point deadline, absl::Time now) {
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return now + absl::FromChrono(deadline - std::chrono::system_clock::now());
}

}  // namespace

UnaryCall::UnaryCall(RpcMethod& method, ServerQueue& queue, RpcEnvironment& environment)
    : method_(method), queue_(queue), environment_(environment) {
  context_.AsyncNotifyWhenDone(&done_);
}

void UnaryCall::Post(RpcMethod& method, ServerQueue& queue, RpcEnvironment& environment) {
  absl::ReaderMutexLock lock(&queue.mu);
  if (queue.closed) return;
  auto* call = new UnaryCall(method, queue, environment);
  method.AskForCall(&call->context_, &call->request_, &call->writer_, queue.queue.get(),
                    &call->arrived_);
}

absl::Status UnaryCall::GivenUp() const {
  if (cancelled_) return CancelledError();
  return environment_.clock->Now() < deadline_ ? absl::OkStatus() : ExpiredError();
}

int64_t UnaryCall::flow_id() { return ConnectionFlow(context_.c_call()); }

void UnaryCall::OnArrived(bool ok) {
  if (!ok) {  // The server shuts down; no other event follows.
    delete this;
    return;
  }
  RpcMethod& method = method_;
  ServerQueue& queue = queue_;
  RpcEnvironment& environment = environment_;
  arrival_time_ = environment_.clock->Now();
  deadline_ = DeadlineOnClock(context_.deadline(), arrival_time_);
  method_.OnArrival();
  method_.Serve(*this);
  // After the call has been served, which waits for nobody; others are asked for already.
  Post(method, queue, environment);
}

void UnaryCall::Finish(const absl::Status& status, const grpc::ByteBuffer& reply) {
  const absl::Duration duration = environment_.clock->Now() - arrival_time_;
  method_.OnReply(status, duration);
  if (IsSlowRequest(duration)) LogSlowRequest(method_.name(), status, duration, context_);
  {
    absl::ReaderMutexLock lock(&queue_.mu);
    if (!queue_.closed) {
      if (status.ok()) return writer_.Finish(reply, grpc::Status::OK, &finished_);
      return writer_.FinishWithError(ToGrpcStatus(status), &finished_);
    }
  }
  // gRPC ends the process for operations on a queue that is shut down. The peer is gone by now.
  OnFinished(false);
}

void UnaryCall::OnDone(bool /*ok*/) {
  // A task past its deadline is expired by the scheduler, which says so; only a caller that went
  // away cancels.
  if (context_.IsCancelled() && environment_.clock->Now() < deadline_) {
    cancelled_ = true;
    if (const TaskId task = task_; task != 0) scheduler_->Cancel(task);
  }
  Release();
}

void UnaryCall::SetTask(Scheduler& scheduler, TaskId task) {
  scheduler_ = &scheduler;
  task_ = task;
  // Either this sees that the caller went away meanwhile, or OnDone sees the task.
  if (cancelled_) scheduler.Cancel(task);
}

void UnaryCall::OnFinished(bool /*ok*/) {
  method_.OnGone();
  Release();
}

void UnaryCall::Release() {
  if (events_to_come_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

}  // namespace winnow::server
