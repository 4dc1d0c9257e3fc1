#include "client/src/grpc_stub.h"

#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <chrono>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "client/src/status_decoding.h"

namespace winnow::client {
namespace {

using google::protobuf::MessageLite;

struct TryCancel {
  grpc::ClientContext* context;
  void operator()() const { context->TryCancel(); }
};
using CancelOnStop = std::stop_callback<TryCancel>;

void Prepare(const AttemptOptions& options, grpc::ClientContext& context) {
  if (options.timeout != absl::InfiniteDuration()) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + options.timeout));
  }
  context.set_wait_for_ready(options.wait_for_ready);
  for (const auto& [key, value] : *options.metadata) context.AddMetadata(key, value);
}

// Of a unary attempt that has ended.
absl::Status Outcome(const grpc::Status& status, const Reply& reply, const std::stop_token& stop) {
  return status.ok() ? reply.status() : FromAttempt(status, stop.stop_requested());
}

// An asynchronous attempt. Deletes itself once it is complete.
class PendingCall final : public Completion {
 public:
  PendingCall(const AttemptOptions& options, absl::AnyInvocable<void(absl::Status) &&> done)
      : done_(std::move(done)) {
    Prepare(options, context_);
  }

  grpc::ClientContext* context() { return &context_; }

  void Start(std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> reader,
             const std::stop_token& stop, MessageLite& response) {
    reader_ = std::move(reader);
    reader_->StartCall();
    stop_ = stop;
    // Before Finish: from there on Complete may run and delete this object.
    cancel_.emplace(stop, TryCancel{&context_});
    reply_.message = &response;
    reader_->Finish(&reply_, &status_, this);
  }

  void Complete(bool) override {
    cancel_.reset();
    absl::AnyInvocable<void(absl::Status)&&> done = std::move(done_);
    absl::Status status = Outcome(status_, reply_, stop_);
    delete this;
    std::move(done)(std::move(status));
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> reader_;
  Reply reply_;
  grpc::Status status_;
  std::stop_token stop_;
  std::optional<CancelOnStop> cancel_;
  absl::AnyInvocable<void(absl::Status) &&> done_;
};

// A stream with a queue of its own, which the caller polls.
class GrpcMessageStream final : public MessageStream {
 public:
  using Stub = grpc::TemplatedGenericStub<MessageLite, Reply>;

  GrpcMessageStream(Stub& stub, const std::string& method, const AttemptOptions& options)
      : stop_(options.stop) {
    Prepare(options, context_);
    stream_ = stub.PrepareCall(&context_, method, &queue_);
    cancel_.emplace(options.stop, TryCancel{&context_});
    stream_->StartCall(this);
    Await();
  }
  ~GrpcMessageStream() override {
    if (!finished_) {
      Cancel();
      Finish().IgnoreError();
    }
    cancel_.reset();
    queue_.Shutdown();
    Await();
  }

  bool Write(const MessageLite& message) override {
    stream_->Write(message, this);
    return Await();
  }
  void WritesDone() override {
    stream_->WritesDone(this);
    Await();
  }
  bool Read(MessageLite& message) override {
    Reply reply{&message};
    stream_->Read(&reply, this);
    const bool read = Await();
    if (reply.state == Reply::State::kMalformed) {
      malformed_ = reply.status();
      // Whoever sends such bytes may never end the stream.
      Cancel();
    }
    return read;
  }
  void Cancel() override {
    cancelled_ = true;
    context_.TryCancel();
  }
  absl::Status Finish() override {
    finished_ = true;
    grpc::Status status;
    stream_->Finish(&status, this);
    Await();
    return malformed_.ok() ? FromAttempt(status, cancelled_ || stop_.stop_requested()) : malformed_;
  }

 private:
  // The one operation under way is over; whether it worked.
  bool Await() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<MessageLite, Reply>> stream_;
  std::optional<CancelOnStop> cancel_;
  const std::stop_token stop_;
  bool cancelled_ = false;
  absl::Status malformed_;
  bool finished_ = false;
};

}  // namespace

GrpcStub::GrpcStub(std::shared_ptr<grpc::Channel> channel, CompletionThread* completions)
    : channel_(std::move(channel)), stub_(channel_), completions_(completions) {}

absl::Status GrpcStub::Call(const std::string& method, const AttemptOptions& options,
                            const MessageLite& request, MessageLite& response) {
  grpc::ClientContext context;
  Prepare(options, context);
  grpc::CompletionQueue queue;
  grpc::Status status;
  Reply reply{&response};
  {
    const auto reader = stub_.PrepareUnaryCall(&context, method, request, &queue);
    reader->StartCall();
    const CancelOnStop cancel(options.stop, TryCancel{&context});
    reader->Finish(&reply, &status, &status);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
  }
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
  return Outcome(status, reply, options.stop);
}

void GrpcStub::AsyncCall(const std::string& method, const AttemptOptions& options,
                         const MessageLite& request, MessageLite& response,
                         absl::AnyInvocable<void(absl::Status) &&> done) {
  auto* call = new PendingCall(options, std::move(done));
  call->Start(stub_.PrepareUnaryCall(call->context(), method, request, completions_->queue()),
              options.stop, response);
}

std::unique_ptr<MessageStream> GrpcStub::OpenStream(const std::string& method,
                                                    const AttemptOptions& options) {
  return std::make_unique<GrpcMessageStream>(stub_, method, options);
}

bool GrpcStub::IsConnected() const {
  return channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
}

}  // namespace winnow::client
