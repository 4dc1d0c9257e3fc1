// ExecuteStream, the hot path: commands of one client, answered in the order of their completion.
//
// Flow control: a stream may have kStreamCredits commands in flight. The server reads no further
// message while they are, so that a client which ignores its credits is held up by the transport,
// and nothing grows without bound.
//
// Pipelining: when the next command is there before its client can have had the last answer,
// answers are held until the queue has no event left, or kMaxHeldAnswers of them, and leave
// together: the system calls of a write cost more than a small command. A client that waits for
// each answer is never kept waiting.

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
inline constexpr size_t kMaxHeldAnswers = 8;

class ExecuteStream final : public StreamCall, private QueueIdler {
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
  // QueueIdler: answers are held no longer.
  void OnQueueEmpty() override;

  // On the queue's thread, or for a large message on that of large requests; one at a time.
  void HandleRead(bool ok);
  // Handle a message. Not Ok: the stream breaks the protocol and ends with
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
  // Starts the next read before the command of the last one, which must have been parsed.
  void ReadAhead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MayRead() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Leaves the answers there are for later, when more may come soon.
  bool MayHold() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sends all answers that there are now.
  void SendAnswers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  RawIndexerService& service_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  grpc::ByteBuffer message_;
  Tag<ExecuteStream> read_{this, &ExecuteStream::OnRead};
  Tag<ExecuteStream> written_{this, &ExecuteStream::OnWritten};
  Tag<ExecuteStream> finished_{this, &ExecuteStream::OnFinished};
  // Of whoever handles a message.
  bool opened_ = false;
  std::string lease_id_;
  absl::Time arrival_time_;  // of the message
  int64_t flow_ = 0;         // of the connection
  bool was_held_ = false;    // answers were, when the message came
  // Of the queue's thread.
  bool handling_message_ = false;  // HandleRead goes on when the message has been handled
  bool held_ = false;              // waits for OnQueueEmpty

  absl::Mutex mu_;
  // A command's task, and who has it.
  struct Submitted {
    TaskId task = 0;  // 0 while it is being submitted
    Scheduler* scheduler = nullptr;
  };
  static void Cancel(const Submitted& submitted);
  // Commands without an answer yet.
  absl::flat_hash_map<int64_t, Submitted> in_flight_ ABSL_GUARDED_BY(mu_);
  std::deque<grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mu_);
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool read_ahead_ ABSL_GUARDED_BY(mu_) = false;  // the read in flight was started so
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  size_t to_send_ ABSL_GUARDED_BY(mu_) = 0;  // answers that leave with the write in flight
  absl::Time last_answer_time_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  absl::Time first_held_time_ ABSL_GUARDED_BY(mu_);  // of the answers that are held
  bool pipelined_ ABSL_GUARDED_BY(mu_) =
      false;  // the last command was there before its client had the answer to the one before
  bool no_more_reads_ ABSL_GUARDED_BY(mu_) = false;  // half-closed, broken or over
  bool ending_ ABSL_GUARDED_BY(mu_) = false;         // Finish was started
  absl::Status outcome_ ABSL_GUARDED_BY(mu_);
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_EXECUTE_STREAM_H_
