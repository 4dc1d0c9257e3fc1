#include "server/rpc/execute_stream.h"

#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/rpc/decode_duration.h"
#include "server/rpc/field_names.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/request_ordering.h"
#include "server/rpc/response_encoder.h"
#include "server/rpc/slow_request_log.h"
#include "server/rpc/status_mapping.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr TaskId kBeingSubmitted = 0;

// A message that comes sooner after an answer was there already: no client can react as quickly.
constexpr absl::Duration kPipelineGap = absl::Microseconds(5);

// Answers are held no longer after the first of them: many times what a write costs, and what a
// client takes to send as many commands again.
constexpr absl::Duration kMaxHold = absl::Microseconds(40);

}  // namespace

struct ExecuteStream::Command {
  // Written out for CallMemory's reason.
  Command() {}  // NOLINT(modernize-use-equals-default)

  CallMemory memory;
  v1::ExecuteStreamRequest* request =
      google::protobuf::Arena::CreateMessage<v1::ExecuteStreamRequest>(&memory.arena());
  std::shared_ptr<RequestResources> resources;
  absl::Time arrival_time;
  std::atomic<bool> answered{false};
};

void ExecuteStream::AskForCall() {
  service_.RequestExecuteStream(&context_, &stream_, queue_.queue.get(), queue_.queue.get(),
                                &arrived_);
}

void ExecuteStream::OnArrived() {
  PostStream<ExecuteStream>(service_, queue_, environment_);
  absl::MutexLock lock(&mu_);
  Advance();
}

void ExecuteStream::OnRead(bool ok) {
  if (ok) {
    arrival_time_ = environment_.clock->Now();
    was_held_ = held_;
  }
  if (!ok || static_cast<int64_t>(message_.Length()) <= kMaxQuickBytes) {
    handling_message_ = true;
    HandleRead(ok);
    handling_message_ = false;
    return;
  }
  // No other message is read meanwhile, so that commands keep their order.
  AddReference();
  environment_.large_requests->Run([this] {
    HandleRead(true);
    Release();
  });
}

void ExecuteStream::HandleRead(bool ok) {
  absl::Status status;
  if (ok) status = OnMessage();
  absl::MutexLock lock(&mu_);
  reading_ = std::exchange(read_ahead_, false);
  if (!ok || !status.ok()) no_more_reads_ = true;
  outcome_.Update(status);
  Advance();
}

absl::Status ExecuteStream::OnMessage() {
  auto command = std::make_shared<Command>();
  command->arrival_time = arrival_time_;
  WINNOW_RETURN_IF_ERROR(ParseMessage(
      message_, environment_.limits.max_inline_bytes + kMessageOverheadBytes, *command->request));
  const v1::ExecuteStreamRequest& message = *command->request;
  if (!opened_) return OnOpen(message);
  switch (message.command_case()) {
    case v1::ExecuteStreamRequest::kExecute:
      return OnExecute(std::move(command));
    case v1::ExecuteStreamRequest::kCancel:
      return OnCancel(message.message_id());
    case v1::ExecuteStreamRequest::kOpen:
      return MakeError(absl::StatusCode::kInvalidArgument, "open is not the first message",
                       {.reason = ErrorReason::kFieldsConflict, .field = "open"});
    case v1::ExecuteStreamRequest::COMMAND_NOT_SET:
      break;
  }
  return MakeError(absl::StatusCode::kInvalidArgument, "command is missing; a message needs one",
                   {.reason = ErrorReason::kFieldMissing, .field = "command"});
}

absl::Status ExecuteStream::OnOpen(const v1::ExecuteStreamRequest& message) {
  if (!message.has_open()) {
    return MakeError(absl::StatusCode::kInvalidArgument, "open is missing; it is the first message",
                     {.reason = ErrorReason::kFieldMissing, .field = "open"});
  }
  WINNOW_RETURN_IF_ERROR(CheckServing(environment_));
  if (!message.open().lease_id().empty()) {
    WINNOW_RETURN_IF_ERROR(environment_.ledger->Use(message.open().lease_id()).status());
  }
  opened_ = true;
  lease_id_ = message.open().lease_id();
  flow_ = connection_flow();
  v1::ExecuteStreamResponse answer;
  answer.mutable_opened()->set_max_inline_bytes(environment_.limits.max_inline_bytes);
  answer.set_credit_count(kStreamCredits);
  absl::MutexLock lock(&mu_);
  Queue(answer);
  return absl::OkStatus();
}

absl::Status ExecuteStream::OnCancel(int64_t message_id) {
  Submitted submitted;
  {
    absl::MutexLock lock(&mu_);
    const auto found = in_flight_.find(message_id);
    if (found != in_flight_.end()) submitted = found->second;
  }
  // A command that was answered meanwhile is none to cancel.
  Cancel(submitted);
  return absl::OkStatus();
}

void ExecuteStream::Cancel(const Submitted& submitted) {
  if (submitted.task != kBeingSubmitted) submitted.scheduler->Cancel(submitted.task);
}

absl::Status ExecuteStream::OnExecute(std::shared_ptr<Command> command) {
  const int64_t id = command->request->message_id();
  // Reading ahead takes as long as enqueueing: a device that works while this thread goes on does
  // not wait for that.
  const bool device_first = !environment_.devices.front().backend->info().device.host_memory;
  bool is_lone = false;
  {
    absl::MutexLock lock(&mu_);
    const bool was_pipelined = pipelined_;
    pipelined_ = writing_ || was_held_ || arrival_time_ - last_answer_time_ < kPipelineGap;
    if (id < 1 || !in_flight_.emplace(id, Submitted{}).second) {
      return InvalidField(ErrorReason::kValueOutOfRange, "message_id", id,
                          "numbers from 1 that no command in flight has");
    }
    is_lone = !was_pipelined && !pipelined_;
    if (is_lone && !device_first) ReadAhead();
  }
  AddReference();
  const absl::Status status = Submit(command);
  if (!status.ok()) {
    Task failed;
    failed.work.status = status;
    OnDone(command, failed);
  } else if (is_lone && device_first) {
    absl::MutexLock lock(&mu_);
    ReadAhead();
  }
  return absl::OkStatus();
}

absl::Status ExecuteStream::Submit(const std::shared_ptr<Command>& command) {
  WINNOW_RETURN_IF_ERROR(CheckServing(environment_));
  const v1::StreamExecute& execute = command->request->execute();
  auto task = std::make_unique<Task>();
  if (execute.has_queue_timeout_duration()) {
    WINNOW_ASSIGN_OR_RETURN(
        const absl::Duration timeout,
        DecodeDuration("queue_timeout_duration", execute.queue_timeout_duration()));
    if (timeout > absl::ZeroDuration()) task->deadline = command->arrival_time + timeout;
  }
  if (!lease_id_.empty()) {
    WINNOW_ASSIGN_OR_RETURN(command->resources,
                            RequestResources::Open(*environment_.ledger, lease_id_));
  }
  WINNOW_ASSIGN_OR_RETURN(
      task->work, DecodeSteps(execute.steps(), environment_.limits, command->resources.get()));
  if (execute.has_ordering()) {
    WINNOW_RETURN_IF_ERROR(DecodeOrdering(execute.ordering(), environment_.limits,
                                          command->resources.get(), task->work.ordering));
  }
  if (absl::Status status = CheckItem(task->work); !status.ok()) {
    return RenameForExecute(status, task->work);
  }
  task->work.keep_alive = command;
  task->flow_id = command->resources == nullptr ? flow_ : command->resources->flow_id();
  task->flow_weight = command->resources == nullptr ? 1 : command->resources->flow_weight();
  task->done = [this, command](std::unique_ptr<Task> done) { OnDone(command, *done); };
  Scheduler& scheduler = *DeviceForRequest(environment_, command->resources.get()).scheduler;
  const absl::StatusOr<TaskId> id = scheduler.Submit(task);
  if (!id.ok()) return id.status();
  if (command->answered.load(std::memory_order_acquire)) return absl::OkStatus();
  absl::MutexLock lock(&mu_);
  const auto found = in_flight_.find(command->request->message_id());
  if (found != in_flight_.end()) found->second = {*id, &scheduler};
  return absl::OkStatus();
}

void ExecuteStream::OnDone(const std::shared_ptr<Command>& command, Task& task) {
  absl::Status status = task.work.status;
  if (command->resources != nullptr) {
    status.Update(command->resources->Intact());
    command->resources->LetGo();
  }
  auto* answer =
      google::protobuf::Arena::CreateMessage<v1::ExecuteStreamResponse>(&command->memory.arena());
  answer->set_message_id(command->request->message_id());
  answer->set_credit_count(1);
  if (status.ok()) {
    environment_.stream_stages->Observe(task.work.timing);
    EncodeExecute(task.work, *answer->mutable_result());
  } else {
    EncodeStreamError(RenameForExecute(status, task.work), *answer->mutable_error());
  }
  const absl::Time now = environment_.clock->Now();
  const absl::Duration duration = now - command->arrival_time;
  environment_.stream_commands->OnReply(status, duration);
  if (IsSlowRequest(duration)) {
    LogSlowRequest(environment_.stream_commands->name(), status, duration, context_);
  }
  {
    absl::MutexLock lock(&mu_);
    last_answer_time_ = now;
    in_flight_.erase(command->request->message_id());
    command->answered.store(true, std::memory_order_release);
    Queue(*answer);
    const bool inside_read = queue_.IsPollingThread() && handling_message_;
    if (!inside_read) Advance();
  }
  Release();
}

void ExecuteStream::Queue(const v1::ExecuteStreamResponse& answer) {
  grpc::ByteBuffer bytes;
  // Outputs were bounded by max_inline_bytes when the command was decoded, far below a message's 2
  // GiB.
  if (!SerializeMessage(answer, bytes).ok()) return;
  environment_.stream_commands->OnArrival();
  answers_.push_back(std::move(bytes));
}

void ExecuteStream::Advance() {
  // The write first: a read alone would send the peer its window in a packet of its own.
  if (!writing_ && !answers_.empty() && !MayHold()) SendAnswers();
  if (!reading_ && MayRead()) {
    reading_ = Start([this] { stream_.Read(&message_, &read_); });
  }
  if (no_more_reads_ && !ending_ && !writing_ && answers_.empty() && in_flight_.empty()) {
    ending_ = true;
    Start([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      stream_.Finish(ToGrpcStatus(outcome_), &finished_);
    });
  }
}

void ExecuteStream::ReadAhead() {
  // A read sends the peer its window. The thread that gets it is awake when the answer comes, where
  // waking it then would take longer than the command. Commands that follow each other closely need
  // no such packet: their peer is awake.
  const bool alone = in_flight_.size() == 1 && answers_.empty();
  if (!alone || !handling_message_ || !MayRead()) return;
  read_ahead_ = Start([this] { stream_.Read(&message_, &read_); });
}

bool ExecuteStream::MayRead() const {
  const auto busy = static_cast<int32_t>(in_flight_.size() + answers_.size());
  return !no_more_reads_ && busy < kStreamCredits;
}

bool ExecuteStream::MayHold() {
  if (answers_.size() == 1) first_held_time_ = last_answer_time_;
  const bool more_may_come = pipelined_ && (reading_ || MayRead()) &&
                             answers_.size() < kMaxHeldAnswers &&
                             last_answer_time_ - first_held_time_ < kMaxHold;
  if (!more_may_come || !queue_.IsPollingThread()) return false;
  if (!held_) {
    held_ = true;
    AddReference();
    queue_.CallWhenEmpty(this);
  }
  return true;
}

void ExecuteStream::OnQueueEmpty() {
  {
    absl::MutexLock lock(&mu_);
    held_ = false;
    if (!writing_ && !answers_.empty()) SendAnswers();
  }
  Release();
}

void ExecuteStream::SendAnswers() {
  to_send_ = answers_.size();
  WriteNext();
}

void ExecuteStream::WriteNext() {
  --to_send_;
  // The transport keeps what is followed by more, and sends it with the last.
  grpc::WriteOptions options;
  if (to_send_ > 0) options.set_buffer_hint();
  writing_ = Start([this, &options]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    stream_.Write(answers_.front(), options, &written_);
  });
  answers_.pop_front();
  if (!writing_) environment_.stream_commands->OnGone();
}

void ExecuteStream::OnWritten(bool ok) {
  environment_.stream_commands->OnGone();
  absl::MutexLock lock(&mu_);
  writing_ = false;
  if (!ok) no_more_reads_ = true;
  if (ok && to_send_ > 0 && !answers_.empty()) return WriteNext();
  Advance();
}

void ExecuteStream::OnOver() {
  std::vector<Submitted> queued;
  {
    absl::MutexLock lock(&mu_);
    no_more_reads_ = true;
    for (size_t dropped = 0; dropped < answers_.size(); ++dropped) {
      environment_.stream_commands->OnGone();
    }
    answers_.clear();
    for (const auto& [id, submitted] : in_flight_) queued.push_back(submitted);
  }
  for (const Submitted& submitted : queued) Cancel(submitted);
}

}  // namespace winnow::server
