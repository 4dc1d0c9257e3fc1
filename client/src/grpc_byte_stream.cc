#include "client/src/grpc_byte_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "client/src/status_decoding.h"

namespace winnow::client {
namespace {

constexpr char kMethod[] = "/winnow.v1.IndexerService/ExecuteStream";

// Each operation under way holds the stream. After Close no operation begins, for the queue may be
// shut down by then; those under way end by themselves.
class GrpcByteStream final : public ByteStream,
                             public std::enable_shared_from_this<GrpcByteStream> {
 public:
  explicit GrpcByteStream(std::shared_ptr<Handler> handler) : handler_(std::move(handler)) {}

  void Start(grpc::GenericStub& stub, CompletionThread& completions, bool wait_for_ready) {
    absl::MutexLock lock(&mutex_);
    context_.set_wait_for_ready(wait_for_ready);
    stream_ = stub.PrepareCall(&context_, kMethod, completions.queue());
    stream_->StartCall(Tag([this](bool ok) {
      if (!ok) return Finish();
      handler_->OnStarted();
    }));
  }

  void Write(grpc::ByteBuffer message) override {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    // A failed write is followed by the end of the reads.
    stream_->Write(message, Tag([this](bool ok) {
                     if (ok) handler_->OnWritten();
                   }));
  }

  void Read() override {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    stream_->Read(&incoming_, Tag([this](bool ok) {
      if (!ok) return Finish();
      handler_->OnRead(std::move(incoming_));
    }));
  }

  void Close() override {
    {
      absl::MutexLock lock(&mutex_);
      closed_ = true;
    }
    context_.TryCancel();
  }

 private:
  class Operation final : public Completion {
   public:
    Operation(std::shared_ptr<GrpcByteStream> stream, absl::AnyInvocable<void(bool) &&> done)
        : stream_(std::move(stream)), done_(std::move(done)) {}
    void Complete(bool ok) override {
      const std::unique_ptr<Operation> self(this);
      if (!stream_->closed()) std::move(done_)(ok);
    }

   private:
    const std::shared_ptr<GrpcByteStream> stream_;
    absl::AnyInvocable<void(bool) &&> done_;
  };

  void* Tag(absl::AnyInvocable<void(bool) &&> done) {
    return static_cast<Completion*>(new Operation(shared_from_this(), std::move(done)));
  }
  bool closed() const {
    absl::MutexLock lock(&mutex_);
    return closed_;
  }
  void Finish() {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    // After Close, the one way to cancel it, nothing is handed on.
    stream_->Finish(&status_, Tag([this](bool) {
      handler_->OnFinished(FromAttempt(status_, /*cancelled_here=*/false));
    }));
  }

  const std::shared_ptr<Handler> handler_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;  // of the read under way
  grpc::Status status_;
  mutable absl::Mutex mutex_;  // orders the start of operations and Close
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

ByteStreamOpener ExecuteStreamOpener(std::shared_ptr<grpc::Channel> channel,
                                     CompletionThread* completions) {
  auto stub = std::make_shared<grpc::GenericStub>(std::move(channel));
  return [stub, completions](std::shared_ptr<ByteStream::Handler> handler, bool wait_for_ready) {
    auto stream = std::make_shared<GrpcByteStream>(std::move(handler));
    stream->Start(*stub, *completions, wait_for_ready);
    return stream;
  };
}

}  // namespace winnow::client
