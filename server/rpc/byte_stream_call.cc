#include "server/rpc/byte_stream_call.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/reflection.h"
#include "server/rpc/status_mapping.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// Names of services and symbols are short.
constexpr int64_t kMaxRequestBytes = 64 << 10;

grpc::ByteBuffer HealthBytes(HealthCheckResponse::ServingStatus status) {
  HealthCheckResponse response;
  response.set_status(status);
  grpc::ByteBuffer bytes;
  SerializeMessage(response, bytes).IgnoreError();  // two bytes
  return bytes;
}

HealthCheckResponse::ServingStatus StatusOf(bool serving) {
  return serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

}  // namespace

ByteStreamCall::ByteStreamCall(grpc::AsyncGenericService& service, ServerQueue& queue,
                               HealthBoard& health)
    : service_(service), queue_(queue), health_(health) {
  context_.AsyncNotifyWhenDone(&done_);
}

void ByteStreamCall::Post(grpc::AsyncGenericService& service, ServerQueue& queue,
                          HealthBoard& health) {
  absl::ReaderMutexLock lock(&queue.mu);
  if (queue.closed) return;
  auto* call = new ByteStreamCall(service, queue, health);
  service.RequestCall(&call->context_, &call->stream_, queue.queue.get(), queue.queue.get(),
                      &call->arrived_);
}

void ByteStreamCall::OnArrived(bool ok) {
  if (!ok) {  // The server shuts down; no other event follows.
    delete this;
    return;
  }
  Post(service_, queue_, health_);
  const std::string& method = context_.method();
  if (method == "/grpc.health.v1.Health/Check") kind_ = Kind::kHealthCheck;
  if (method == "/grpc.health.v1.Health/Watch") kind_ = Kind::kHealthWatch;
  if (absl::StartsWith(method, "/grpc.reflection.v1") &&
      absl::EndsWith(method, ".ServerReflection/ServerReflectionInfo")) {
    kind_ = Kind::kReflection;
  }
  absl::MutexLock lock(&mu_);
  ++events_to_come_;  // done
  if (kind_ != Kind::kUnknown) return Read();
  Finish(MakeError(absl::StatusCode::kUnimplemented,
                   "this server has no such method; its version may be older than the client's",
                   {.reason = ErrorReason::kNotInBuild}));
}

void ByteStreamCall::Begin(absl::FunctionRef<void()> operation) {
  absl::ReaderMutexLock lock(&queue_.mu);
  if (queue_.closed) {
    finishing_ = true;
    return;
  }
  ++events_to_come_;
  operation();
}

void ByteStreamCall::Read() {
  Begin([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { stream_.Read(&message_, &read_); });
}

void ByteStreamCall::Write(const grpc::ByteBuffer& bytes) {
  writing_ = true;
  Begin([&] { stream_.Write(bytes, &wrote_); });
}

void ByteStreamCall::OnRead(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    --events_to_come_;
    if (!ok) Finish(absl::OkStatus());  // The peer has no more to ask.
  }
  if (ok && kind_ == Kind::kReflection) AnswerReflectionRequest();
  if (ok && kind_ != Kind::kReflection) AnswerHealth(kind_ == Kind::kHealthWatch);
  DeleteIfOver();
}

void ByteStreamCall::AnswerHealth(bool watch) {
  HealthCheckRequest request;
  const bool serving = health_.serving();  // before the lock: the board takes its own first
  {
    absl::MutexLock lock(&mu_);
    const absl::Status parsed = ParseMessage(message_, kMaxRequestBytes, request);
    if (!parsed.ok()) return Finish(parsed);
    if (!health_.Knows(request.service())) {
      if (!watch) return Finish(absl::NotFoundError("this server has no such service"));
      // The protocol keeps such a watch open; here no service can appear later.
      return Write(HealthBytes(HealthCheckResponse::SERVICE_UNKNOWN));
    }
    if (!watch) {
      finishing_ = true;
      return Begin([&] {
        stream_.WriteAndFinish(HealthBytes(StatusOf(serving)), grpc::WriteOptions(),
                               grpc::Status::OK, &finished_);
      });
    }
  }
  watching_ = true;
  health_.Add(this);
}

void ByteStreamCall::AnswerReflectionRequest() {
  grpc::reflection::v1alpha::ServerReflectionRequest request;
  grpc::reflection::v1alpha::ServerReflectionResponse response;
  absl::MutexLock lock(&mu_);
  absl::Status status = ParseMessage(message_, kMaxRequestBytes, request);
  if (!status.ok()) return Finish(status);
  AnswerReflection(request, response);
  grpc::ByteBuffer bytes;
  status = SerializeMessage(response, bytes);
  if (!status.ok()) return Finish(status);
  Write(bytes);
}

void ByteStreamCall::OnWrote(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    --events_to_come_;
    writing_ = false;
    if (!ok) {
      Finish(absl::CancelledError("the peer is gone"));
    } else if (kind_ == Kind::kReflection) {
      Read();
    } else {
      Advance();
    }
  }
  DeleteIfOver();
}

void ByteStreamCall::OnState(bool serving) {
  absl::MutexLock lock(&mu_);
  state_to_tell_ = serving;
  Advance();
}

void ByteStreamCall::OnClose() {
  absl::MutexLock lock(&mu_);
  closing_ = true;
  Advance();
}

void ByteStreamCall::Advance() {
  if (writing_ || finishing_) return;
  if (state_to_tell_.has_value()) {
    Write(HealthBytes(StatusOf(*std::exchange(state_to_tell_, std::nullopt))));
  } else if (closing_) {
    Finish(MakeError(absl::StatusCode::kUnavailable, "the server ends",
                     {.reason = ErrorReason::kServerDraining}));
  }
}

void ByteStreamCall::Finish(const absl::Status& status) {
  if (finishing_) return;
  finishing_ = true;
  Begin([&] { stream_.Finish(ToGrpcStatus(status), &finished_); });
}

void ByteStreamCall::OnDone(bool /*ok*/) {
  if (watching_) health_.Remove(this);
  {
    absl::MutexLock lock(&mu_);
    --events_to_come_;
    // A write in flight fails by itself and finishes then.
    if (!writing_) Finish(absl::CancelledError("the peer is gone"));
  }
  DeleteIfOver();
}

void ByteStreamCall::OnFinished(bool /*ok*/) {
  {
    absl::MutexLock lock(&mu_);
    --events_to_come_;
  }
  DeleteIfOver();
}

void ByteStreamCall::DeleteIfOver() {
  bool over = false;
  {
    absl::MutexLock lock(&mu_);
    over = events_to_come_ == 0;
  }
  if (over) delete this;
}

}  // namespace winnow::server
