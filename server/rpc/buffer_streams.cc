#include "server/rpc/buffer_streams.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/request_scope.h"
#include "server/rpc/status_mapping.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

constexpr int64_t kMaxWriteBytes = int64_t{4} << 20;
constexpr int64_t kReadChunkBytes = int64_t{1} << 20;

// `field` is where the request says how many `bytes`.
absl::Status CheckRange(absl::string_view field, int64_t offset, int64_t bytes, int64_t size) {
  if (offset < 0 || offset > size) {
    return InvalidField(ErrorReason::kRangeOutOfBounds, "offset_bytes", offset,
                        absl::StrCat("0 to ", size, ", the buffer's size"));
  }
  if (bytes >= 0 && bytes <= size - offset) return absl::OkStatus();
  return InvalidField(ErrorReason::kRangeOutOfBounds, field, bytes,
                      absl::StrCat("0 to ", size - offset, " from offset ", offset));
}

}  // namespace

void WriteBufferStream::AskForCall() {
  service_.RequestWriteBuffer(&context_, &reader_, queue_.queue.get(), queue_.queue.get(),
                              &arrived_);
}

void WriteBufferStream::OnArrived() {
  PostStream<WriteBufferStream>(service_, queue_, environment_);
  if (absl::Status status = CheckServing(environment_); !status.ok()) return Finish(status);
  Read();
}

void WriteBufferStream::Read() {
  Start([this] { reader_.Read(&chunk_, &read_); });
}

void WriteBufferStream::OnRead(bool ok) {
  if (!ok) {  // The client has sent everything, or is gone; then Finish starts nothing.
    if (buffer_ == nullptr) return Finish(MissingField("buffer", "the first message names it"));
    return Finish(absl::OkStatus());
  }
  if (absl::Status status = Write(); !status.ok()) return Finish(status);
  Read();
}

absl::Status WriteBufferStream::Write() {
  v1::WriteBufferRequest message;
  WINNOW_RETURN_IF_ERROR(ParseMessage(chunk_, kMaxWriteBytes + kMessageOverheadBytes, message));
  if (buffer_ == nullptr) {
    WINNOW_ASSIGN_OR_RETURN(resources_,
                            RequestResources::Open(*environment_.ledger, message.lease_id()));
    WINNOW_ASSIGN_OR_RETURN(buffer_, resources_->FindBuffer("buffer", message.buffer()));
    if (buffer_->read_only()) {
      return MakeError(absl::StatusCode::kInvalidArgument,
                       "buffer was imported read-only and cannot be written",
                       {.reason = ErrorReason::kFieldsConflict, .field = "buffer"});
    }
  }
  const auto bytes = static_cast<int64_t>(message.data().size());
  if (bytes > kMaxWriteBytes) {
    return InvalidField(ErrorReason::kMessageTooLarge, "data", bytes,
                        absl::StrCat("up to ", kMaxWriteBytes, " bytes a message"));
  }
  WINNOW_RETURN_IF_ERROR(CheckRange("data", message.offset_bytes(), bytes, buffer_->size_bytes()));
  WINNOW_RETURN_IF_ERROR(
      DeviceForRequest(environment_, resources_.get())
          .backend->CopyToDevice(buffer_->data() + message.offset_bytes(),
                                 reinterpret_cast<const std::byte*>(message.data().data()), bytes));
  written_bytes_ += bytes;
  return buffer_->Intact();
}

void WriteBufferStream::Finish(const absl::Status& status) {
  v1::WriteBufferResponse response;
  response.set_written_bytes(written_bytes_);
  grpc::ByteBuffer reply;
  absl::Status outcome = status;
  if (outcome.ok()) outcome = SerializeMessage(response, reply);
  // Before the answer, whose reader may release the buffer or make the lease's next request.
  buffer_ = nullptr;
  resources_ = nullptr;
  Start([&] {
    if (outcome.ok()) {
      reader_.Finish(reply, grpc::Status::OK, &finished_);
    } else {
      reader_.FinishWithError(ToGrpcStatus(outcome), &finished_);
    }
  });
}

void ReadBufferStream::AskForCall() {
  service_.RequestReadBuffer(&context_, &request_, &writer_, queue_.queue.get(), queue_.queue.get(),
                             &arrived_);
}

void ReadBufferStream::OnArrived() {
  PostStream<ReadBufferStream>(service_, queue_, environment_);
  if (absl::Status status = Begin(); !status.ok()) return Finish(status);
  Advance();
}

absl::Status ReadBufferStream::Begin() {
  v1::ReadBufferRequest request;
  WINNOW_RETURN_IF_ERROR(CheckServing(environment_));
  WINNOW_RETURN_IF_ERROR(ParseMessage(request_, kMessageOverheadBytes, request));
  WINNOW_ASSIGN_OR_RETURN(resources_,
                          RequestResources::Open(*environment_.ledger, request.lease_id()));
  WINNOW_ASSIGN_OR_RETURN(buffer_, resources_->FindBuffer("buffer", request.buffer()));
  WINNOW_RETURN_IF_ERROR(CheckRange("size_bytes", request.offset_bytes(), request.size_bytes(),
                                    buffer_->size_bytes()));
  next_ = request.offset_bytes();
  end_ = request.size_bytes() == 0 ? buffer_->size_bytes() : next_ + request.size_bytes();
  return absl::OkStatus();
}

void ReadBufferStream::Advance() {
  // Memory that was truncated while it was read gave zeros: say so at the end.
  const absl::Status status = next_ < end_ ? SendChunk() : buffer_->Intact();
  if (status.ok() && sending_) return;
  Finish(status);
}

void ReadBufferStream::Finish(const absl::Status& status) {
  // As for WriteBufferStream.
  buffer_ = nullptr;
  resources_ = nullptr;
  Start([&] { writer_.Finish(ToGrpcStatus(status), &finished_); });
}

absl::Status ReadBufferStream::SendChunk() {
  v1::ReadBufferResponse chunk;
  const int64_t bytes = std::min(kReadChunkBytes, end_ - next_);
  chunk.set_offset_bytes(next_);
  chunk.mutable_data()->resize(static_cast<size_t>(bytes));
  WINNOW_RETURN_IF_ERROR(
      DeviceForRequest(environment_, resources_.get())
          .backend->CopyToHost(reinterpret_cast<std::byte*>(chunk.mutable_data()->data()),
                               buffer_->data() + next_, bytes));
  grpc::ByteBuffer message;
  WINNOW_RETURN_IF_ERROR(SerializeMessage(chunk, message));
  next_ += bytes;
  sending_ = true;
  Start([&] { writer_.Write(message, &written_); });
  return absl::OkStatus();
}

void ReadBufferStream::OnWritten(bool ok) {
  sending_ = false;
  if (ok) Advance();
}

}  // namespace winnow::server
