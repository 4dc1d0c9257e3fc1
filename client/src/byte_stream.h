// A stream of serialized messages both ways, asynchronous: what a CommandStream runs over. Streams
// over gRPC are in grpc_byte_stream.h; tests bring their own.

#ifndef WINNOW_CLIENT_SRC_BYTE_STREAM_H_
#define WINNOW_CLIENT_SRC_BYTE_STREAM_H_

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"

namespace winnow::client {

// Thread safety: the methods may be called from several threads, but one write and one read are
// under way at a time.
class ByteStream {
 public:
  // Called from one thread at a time, with no lock of the stream held, never from within a method
  // of the stream. Nothing is called after Close has returned, but for what runs already.
  class Handler {
   public:
    virtual ~Handler() = default;
    // The stream takes messages now.
    virtual void OnStarted() = 0;
    virtual void OnWritten() = 0;
    virtual void OnRead(grpc::ByteBuffer message) = 0;
    // The stream is over; nothing follows.
    virtual void OnFinished(const absl::Status& status) = 0;
  };

  virtual ~ByteStream() = default;
  virtual void Write(grpc::ByteBuffer message) = 0;
  virtual void Read() = 0;
  // Cancels the stream. Does not wait.
  virtual void Close() = 0;
};

// Opens a stream whose events go to `handler`, which the stream keeps until it is over.
using ByteStreamOpener = std::function<std::shared_ptr<ByteStream>(
    std::shared_ptr<ByteStream::Handler> handler, bool wait_for_ready)>;

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_BYTE_STREAM_H_
