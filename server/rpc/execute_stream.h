// ExecuteStream, the hot path: commands of one client, answered in the order of their completion.
//
// Flow control: a stream may have kStreamCredits commands in flight. The server reads no further
// message while they are, so that a client which ignores its credits is held up by the transport,
// and nothing grows without bound.

#ifndef WINNOW_SERVER_RPC_EXECUTE_STREAM_H_
#define WINNOW_SERVER_RPC_EXECUTE_STREAM_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/support/async_stream.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/batching/task.h"
#include "server/rpc/indexer_methods.h"
#include "server/rpc/request_resources.h"
#include "server/rpc/rpc_method.h"
#include "server/rpc/stream_call.h"

namespace winnow::server {

inline constexpr int32_t kStreamCredits = 64;

class ExecuteStream final : public StreamCall {
 public:
  ExecuteStream(RawIndexerService& service, ServerQueue& queue, RpcEnvironment& environment)
      : StreamCall(queue, environment), service_(service) {}

  void AskForCall() override;

 private:
  // Messages of one command.
  struct Command;

  void OnArrived() override;
  void OnOver() override;
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool /*ok*/) {}

  // Handle a message on the queue's thread. Not Ok: the stream breaks the protocol and ends with
  // that status.
  absl::Status OnMessage();
  absl::Status OnOpen(const v1::ExecuteStreamRequest& message);
  absl::Status OnExecute(std::shared_ptr<Command> command);
  absl::Status OnCancel(int64_t message_id);
  // Not Ok: the command failed before it was queued.
  absl::Status Submit(const std::shared_ptr<Command>& command);

  // From any thread, once for each command.
  void OnDone(const std::shared_ptr<Command>& command, Task& task);
  void Queue(const v1::ExecuteStreamResponse& answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Starts what can be started: the next write, the next read, the end.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  RawIndexerService& service_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  grpc::ByteBuffer message_;
  Tag<ExecuteStream> read_{this, &ExecuteStream::OnRead};
  Tag<ExecuteStream> written_{this, &ExecuteStream::OnWritten};
  Tag<ExecuteStream> finished_{this, &ExecuteStream::OnFinished};
  // Of the queue's thread.
  bool opened_ = false;
  std::string lease_id_;

  absl::Mutex mu_;
  // Commands without an answer yet: their tasks, 0 while one is being submitted.
  absl::flat_hash_map<int64_t, TaskId> in_flight_ ABSL_GUARDED_BY(mu_);
  std::deque<grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mu_);
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool no_more_reads_ ABSL_GUARDED_BY(mu_) = false;  // half-closed, broken or over
  bool ending_ ABSL_GUARDED_BY(mu_) = false;         // Finish was started
  absl::Status outcome_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_EXECUTE_STREAM_H_
