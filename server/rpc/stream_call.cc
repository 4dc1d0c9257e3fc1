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
  call->over_ = true;
  call->OnOver();
  call->Release();
}

bool StreamCall::Start(absl::FunctionRef<void()> operation) {
  if (over_) return false;
  // An operation on a queue that was shut down would abort the process.
  absl::ReaderMutexLock lock(&queue_.mu);
  if (queue_.closed) return false;
  AddReference();
  operation();
  return true;
}

void StreamCall::Release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

int64_t StreamCall::connection_flow() { return ConnectionFlow(context_.c_call()); }

}  // namespace winnow::server
