// The calls of gRPC's own services: health and reflection. They are served as streams of bytes on
// the same completion queues as everything else. gRPC's ready-made services would bring threads and
// queues of their own, over which the connections are spread, and every call on such a connection
// costs two more thread switches: 20 to 80 us.
//
// Also answers calls of methods that do not exist.

#ifndef WINNOW_SERVER_RPC_BYTE_STREAM_CALL_H_
#define WINNOW_SERVER_RPC_BYTE_STREAM_CALL_H_

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/generic/async_generic_service.h"
#include "server/rpc/health_board.h"
#include "server/rpc/unary_call.h"

namespace winnow::server {

// Thread safety: events arrive on the queue's thread; the health board calls from any thread.
// Deletes itself when gRPC has let go of it.
class ByteStreamCall final : private HealthBoard::Watcher {
 public:
  // Asks gRPC for the next call of a method that no other service has. All three outlive the calls.
  static void Post(grpc::AsyncGenericService& service, ServerQueue& queue, HealthBoard& health);

 private:
  enum class Kind { kUnknown, kHealthCheck, kHealthWatch, kReflection };

  struct Tag final : CompletionTag {
    using Handler = void (ByteStreamCall::*)(bool ok);
    Tag(ByteStreamCall* owner, Handler handler_of_event) : call(owner), handler(handler_of_event) {}
    void OnEvent(bool ok) override { (call->*handler)(ok); }
    ByteStreamCall* const call;
    const Handler handler;
  };

  ByteStreamCall(grpc::AsyncGenericService& service, ServerQueue& queue, HealthBoard& health);

  void OnArrived(bool ok);
  void OnRead(bool ok);
  void OnWrote(bool ok);
  void OnFinished(bool ok);
  void OnDone(bool ok);
  // HealthBoard::Watcher.
  void OnState(bool serving) override;
  void OnClose() override;

  void AnswerHealth(bool watch);
  void AnswerReflectionRequest();
  // Starts an operation of the stream, which an event will end, unless the queue is shut down: gRPC
  // ends the process for operations that come later.
  void Begin(absl::FunctionRef<void()> operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Write(const grpc::ByteBuffer& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Writes the state that is to be told, or ends the stream when nothing is left to say.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Finish(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // After each event, without the lock.
  void DeleteIfOver();

  grpc::AsyncGenericService& service_;
  ServerQueue& queue_;
  HealthBoard& health_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  Tag arrived_{this, &ByteStreamCall::OnArrived};
  Tag read_{this, &ByteStreamCall::OnRead};
  Tag wrote_{this, &ByteStreamCall::OnWrote};
  Tag finished_{this, &ByteStreamCall::OnFinished};
  Tag done_{this, &ByteStreamCall::OnDone};
  Kind kind_ = Kind::kUnknown;
  bool watching_ = false;  // on the queue's thread alone

  absl::Mutex mu_;
  grpc::ByteBuffer message_ ABSL_GUARDED_BY(mu_);
  int events_to_come_ ABSL_GUARDED_BY(mu_) = 0;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool finishing_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<bool> state_to_tell_ ABSL_GUARDED_BY(mu_);
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_BYTE_STREAM_CALL_H_
