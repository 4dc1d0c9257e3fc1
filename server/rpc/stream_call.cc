#include "server/rpc/stream_call.h"

#include "server/rpc/connection_flow.h"

namespace winnow::server {

StreamCall::StreamCall(ServerQueue& queue, RpcEnvironment& environment)
    : queue_(queue), environment_(environment) {
  context_.AsyncNotifyWhenDone(&over_tag_);
}

void StreamCall::ArrivedTag::OnEvent(bool ok) {
  if (!ok) {  // The server shuts down; no other event follows.
    delete call;
    return;
  }
  call->OnArrived();
}

void StreamCall::OverTag::OnEvent(bool /*ok*/) {
  {
    absl::MutexLock lock(&call->reference_mu_);
    call->over_ = true;
  }
  call->OnOver();
  call->Release();
}

bool StreamCall::Start(absl::FunctionRef<void()> operation) {
  absl::MutexLock lock(&reference_mu_);
  if (over_) return false;
  // An operation on a queue that was shut down would abort the process.
  absl::MutexLock queue_lock(&queue_.mu);
  if (queue_.closed) return false;
  ++references_;
  operation();
  return true;
}

void StreamCall::AddReference() {
  absl::MutexLock lock(&reference_mu_);
  ++references_;
}

void StreamCall::Release() {
  bool last = false;
  {
    absl::MutexLock lock(&reference_mu_);
    last = --references_ == 0;
  }
  if (last) delete this;
}

int64_t StreamCall::connection_flow() { return ConnectionFlow(context_.c_call()); }

}  // namespace winnow::server
