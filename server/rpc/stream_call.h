// What the streaming calls share: operations in flight are counted, none is started on a closed
// queue or after the end of the call, and the call deletes itself when the last of them came back.
// Next: lease_stream.h, buffer_streams.h and execute_stream.h.

#ifndef WINNOW_SERVER_RPC_STREAM_CALL_H_
#define WINNOW_SERVER_RPC_STREAM_CALL_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "server/rpc/rpc_environment.h"
#include "server/rpc/unary_call.h"

namespace winnow::server {

class StreamCall {
 public:
  // How a concrete call is asked for: see PostStream.
  virtual void AskForCall() = 0;

 protected:
  // A completion that calls a member function of the call.
  template <typename Call>
  struct Tag final : CompletionTag {
    using Handler = void (Call::*)(bool ok);
    Tag(Call* owner, Handler handler_of_event) : call(owner), handler(handler_of_event) {}
    void OnEvent(bool ok) override {
      (call->*handler)(ok);
      call->Release();
    }
    Call* const call;
    const Handler handler;
  };

  StreamCall(ServerQueue& queue, RpcEnvironment& environment);
  virtual ~StreamCall() = default;

  // The call arrived. On the queue's thread; posts its successor itself.
  virtual void OnArrived() = 0;
  // The call is over: the peer is gone, or everything was sent. On the queue's thread, once. No
  // operation is started from then on; what another thread is just starting comes back failed.
  virtual void OnOver() = 0;

  // Starts an operation whose tag comes back later, unless the call is over or the server stops.
  // True when it was started. The caller has a reference: an event's, or one of AddReference.
  bool Start(absl::FunctionRef<void()> operation);

  // Keeps the call alive for something other than an operation, a running task say.
  void AddReference() { references_.fetch_add(1, std::memory_order_relaxed); }
  // The counterpart of Start and AddReference; the call may be deleted when it returns.
  void Release();

  std::string peer() const { return context_.peer(); }
  int64_t connection_flow();

  ServerQueue& queue_;
  RpcEnvironment& environment_;
  grpc::ServerContext context_;

 private:
  template <typename Call, typename Service>
  friend void PostStream(Service& service, ServerQueue& queue, RpcEnvironment& environment);

  struct ArrivedTag final : CompletionTag {
    explicit ArrivedTag(StreamCall* owner) : call(owner) {}
    void OnEvent(bool ok) override;
    StreamCall* const call;
  };
  struct OverTag final : CompletionTag {
    explicit OverTag(StreamCall* owner) : call(owner) {}
    void OnEvent(bool ok) override;
    StreamCall* const call;
  };

  std::atomic<bool> over_{false};
  std::atomic<int64_t> references_{1};  // the tag of the end

 protected:
  ArrivedTag arrived_{this};

 private:
  OverTag over_tag_{this};
};

// Asks gRPC for the next call of `Call`, which is made of (service, queue, environment). All three
// outlive the calls.
template <typename Call, typename Service>
void PostStream(Service& service, ServerQueue& queue, RpcEnvironment& environment) {
  absl::MutexLock lock(&queue.mu);
  if (queue.closed) return;
  StreamCall* call = new Call(service, queue, environment);
  call->AskForCall();
}

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_STREAM_CALL_H_
