#include "client/src/command_stream.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>

#include "client/src/request_encoding.h"
#include "client/src/status_decoding.h"

namespace winnow::client {
namespace {

grpc::ByteBuffer Serialized(const v1::ExecuteStreamRequest& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::MessageLite>(message, &bytes,
                                                                                 &own);
  return bytes;
}

// The steps stay their owner's: large requests are serialized where they are, not copied first.
grpc::ByteBuffer Serialized(int64_t id, const std::vector<const v1::Step*>& steps,
                            absl::Duration timeout) {
  v1::ExecuteStreamRequest message;
  message.set_message_id(id);
  v1::StreamExecute& execute = *message.mutable_execute();
  if (timeout != absl::InfiniteDuration()) {
    EncodeDuration(timeout, *execute.mutable_queue_timeout_duration());
  }
  auto& borrowed = *execute.mutable_steps();
  for (const v1::Step* step : steps) borrowed.UnsafeArenaAddAllocated(const_cast<v1::Step*>(step));
  grpc::ByteBuffer bytes = Serialized(message);
  while (!borrowed.empty()) borrowed.UnsafeArenaReleaseLast();
  return bytes;
}

absl::Status StreamOver(const absl::Status& status) {
  return status.ok() ? absl::UnavailableError("the server ended the stream") : status;
}

}  // namespace

CommandStream::CommandStream(std::string lease_id, Clock* clock)
    : lease_id_(std::move(lease_id)), clock_(clock) {}

std::shared_ptr<CommandStream> CommandStream::Open(const ByteStreamOpener& opener,
                                                   std::string lease_id, bool wait_for_ready,
                                                   Clock* clock) {
  auto self = std::make_shared<CommandStream>(std::move(lease_id), clock);
  {
    v1::ExecuteStreamRequest open;
    open.mutable_open()->set_lease_id(self->lease_id_);
    absl::MutexLock lock(&self->mutex_);
    self->controls_.push_back(Serialized(open));
  }
  std::shared_ptr<ByteStream> stream = opener(self, wait_for_ready);
  {
    absl::MutexLock lock(&self->mutex_);
    if (!self->over_.has_value()) self->stream_ = std::move(stream);
  }
  // It may have started before this thread knew it.
  self->Advance();
  return self;
}

bool CommandStream::over() const {
  absl::MutexLock lock(&mutex_);
  return over_.has_value();
}

void CommandStream::Submit(const std::vector<const v1::Step*>& steps, absl::Duration timeout,
                           std::stop_token stop, Done done) {
  int64_t id = 0;
  {
    absl::MutexLock lock(&mutex_);
    id = ++last_id_;
  }
  grpc::ByteBuffer bytes = Serialized(id, steps, timeout);
  std::optional<absl::Status> refused;
  {
    absl::MutexLock lock(&mutex_);
    refused = over_;
    if (!refused.has_value()) {
      pending_.emplace(id, Pending{.done = std::move(done), .deadline = clock_->Now() + timeout});
      unsent_.emplace_back(id, std::move(bytes));
      if (timeout != absl::InfiniteDuration()) ArmSweep();
    }
  }
  if (refused.has_value()) return std::move(done)(*refused, nullptr);
  Advance();
  if (!stop.stop_possible()) return;
  // May run at once, in this thread.
  auto on_stop = std::make_unique<std::stop_callback<Abandoner>>(std::move(stop),
                                                                 Abandoner{weak_from_this(), id});
  absl::MutexLock lock(&mutex_);
  const auto found = pending_.find(id);
  // Otherwise it goes after the lock: destroying it may wait for Abandon.
  if (found != pending_.end()) found->second.stop = std::move(on_stop);
}

void CommandStream::Abandoner::operator()() const {
  // Abandon destroys this object.
  const std::shared_ptr<CommandStream> self = stream.lock();
  const int64_t abandoned = id;
  if (self != nullptr) {
    self->Abandon(abandoned, absl::CancelledError("the caller cancelled the call"));
  }
}

void CommandStream::Abandon(int64_t id, const absl::Status& status) {
  PendingMap::node_type command;
  {
    absl::MutexLock lock(&mutex_);
    command = pending_.extract(id);
    if (command.empty()) return;
    const auto unsent = std::find_if(unsent_.begin(), unsent_.end(),
                                     [id](const auto& entry) { return entry.first == id; });
    if (unsent != unsent_.end()) {
      unsent_.erase(unsent);
    } else {
      v1::ExecuteStreamRequest cancel;
      cancel.set_message_id(id);
      cancel.mutable_cancel();
      controls_.push_back(Serialized(cancel));
    }
  }
  Advance();
  std::move(command.mapped().done)(status, nullptr);
}

std::optional<grpc::ByteBuffer> CommandStream::NextWrite() {
  if (writing_ || over_.has_value() || stream_ == nullptr) return std::nullopt;
  grpc::ByteBuffer next;
  if (!controls_.empty()) {
    next = std::move(controls_.front());
    controls_.pop_front();
  } else if (opened_ && credits_ > 0 && !unsent_.empty()) {
    --credits_;
    next = std::move(unsent_.front().second);
    unsent_.pop_front();
  } else {
    return std::nullopt;
  }
  writing_ = true;
  return next;
}

void CommandStream::Advance() {
  std::shared_ptr<ByteStream> stream;
  std::optional<grpc::ByteBuffer> next;
  {
    absl::MutexLock lock(&mutex_);
    next = NextWrite();
    stream = stream_;
  }
  if (next.has_value()) stream->Write(*std::move(next));
}

void CommandStream::OnStarted() {
  OnWritten();
  std::shared_ptr<ByteStream> stream;
  {
    absl::MutexLock lock(&mutex_);
    // Open may not have returned from the opener yet.
    const auto known = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stream_ != nullptr || over_.has_value();
    };
    mutex_.Await(absl::Condition(&known));
    stream = stream_;
  }
  if (stream != nullptr) stream->Read();
}

void CommandStream::OnWritten() {
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
  }
  Advance();
}

void CommandStream::OnRead(grpc::ByteBuffer message) {
  v1::ExecuteStreamResponse answer;
  const grpc::Status parsed =
      grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::MessageLite>(&message,
                                                                                       &answer);
  std::shared_ptr<ByteStream> stream;
  {
    absl::MutexLock lock(&mutex_);
    stream = stream_;
  }
  if (stream == nullptr) return;  // closed meanwhile
  if (!parsed.ok()) {
    stream->Close();
    return FailAll(absl::InternalError("the server's answer is malformed"));
  }
  // Before the answer is handed on: the next one may arrive meanwhile.
  stream->Read();
  Answer(answer);
}

void CommandStream::Answer(v1::ExecuteStreamResponse& answer) {
  PendingMap::node_type command;
  {
    absl::MutexLock lock(&mutex_);
    opened_ = opened_ || answer.has_opened();
    credits_ += answer.credit_count();
    command = pending_.extract(answer.message_id());
  }
  Advance();
  if (command.empty()) return;  // `opened`, or the command was given up
  // Not under the lock: it may wait for a stop that is being requested.
  command.mapped().stop.reset();
  Done done = std::move(command.mapped().done);
  if (answer.has_result()) return std::move(done)(absl::OkStatus(), answer.mutable_result());
  std::move(done)(FromStreamError(answer.error()), nullptr);
}

void CommandStream::OnFinished(const absl::Status& status) { FailAll(StreamOver(status)); }

void CommandStream::FailAll(const absl::Status& status) {
  PendingMap failed;
  // The stream keeps its handler, which is this: one of them has to let go.
  std::shared_ptr<ByteStream> stream;
  {
    absl::MutexLock lock(&mutex_);
    if (!over_.has_value()) over_ = status;
    stream.swap(stream_);
    failed.swap(pending_);
    unsent_.clear();
    controls_.clear();
  }
  for (auto& [id, command] : failed) {
    command.stop.reset();
    std::move(command.done)(status, nullptr);
  }
}

void CommandStream::Close() {
  std::shared_ptr<ByteStream> stream;
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    stream = stream_;
  }
  closing_.request_stop();
  if (stream != nullptr) stream->Close();
  FailAll(absl::CancelledError("the client is closing"));
}

void CommandStream::ArmSweep() {
  if (sweeping_ || closed_ || over_.has_value()) return;
  sweeping_ = true;
  clock_->After(kSweepPeriod, closing_.get_token(), [weak = weak_from_this()] {
    if (const std::shared_ptr<CommandStream> self = weak.lock(); self != nullptr) self->Sweep();
  });
}

void CommandStream::Sweep() {
  std::vector<int64_t> expired;
  {
    absl::MutexLock lock(&mutex_);
    sweeping_ = false;
    const absl::Time now = clock_->Now();
    bool more = false;
    for (const auto& [id, command] : pending_) {
      if (command.deadline <= now) {
        expired.push_back(id);
      } else {
        more = more || command.deadline != absl::InfiniteFuture();
      }
    }
    if (more) ArmSweep();
  }
  for (const int64_t id : expired) {
    Abandon(id, absl::DeadlineExceededError("the deadline passed"));
  }
}

}  // namespace winnow::client
