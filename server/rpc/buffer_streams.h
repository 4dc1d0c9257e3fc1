// WriteBuffer and ReadBuffer: host bytes into and out of a buffer, in chunks.

#ifndef WINNOW_SERVER_RPC_BUFFER_STREAMS_H_
#define WINNOW_SERVER_RPC_BUFFER_STREAMS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/async_stream.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/rpc/memory_methods.h"
#include "server/rpc/request_resources.h"
#include "server/rpc/stream_call.h"

namespace winnow::server {

// Each chunk is in the buffer before the next is read: a stream that breaks leaves the rest as it
// was.
class WriteBufferStream final : public StreamCall {
 public:
  WriteBufferStream(RawMemoryService& service, ServerQueue& queue, RpcEnvironment& environment)
      : StreamCall(queue, environment), service_(service) {}

  void AskForCall() override;

 private:
  void OnArrived() override;
  void OnOver() override {}
  void OnRead(bool ok);
  void OnFinished(bool /*ok*/) {}

  void Read();
  absl::Status Write();
  void Finish(const absl::Status& status);

  RawMemoryService& service_;
  grpc::ServerAsyncReader<grpc::ByteBuffer, grpc::ByteBuffer> reader_{&context_};
  grpc::ByteBuffer chunk_;
  Tag<WriteBufferStream> read_{this, &WriteBufferStream::OnRead};
  Tag<WriteBufferStream> finished_{this, &WriteBufferStream::OnFinished};
  std::shared_ptr<RequestResources> resources_;
  std::shared_ptr<Buffer> buffer_;
  int64_t written_bytes_ = 0;
};

class ReadBufferStream final : public StreamCall {
 public:
  ReadBufferStream(RawMemoryService& service, ServerQueue& queue, RpcEnvironment& environment)
      : StreamCall(queue, environment), service_(service) {}

  void AskForCall() override;

 private:
  void OnArrived() override;
  void OnOver() override {}
  void OnWritten(bool ok);
  void OnFinished(bool /*ok*/) {}

  absl::Status Begin();
  absl::Status SendChunk();
  void Advance();
  void Finish(const absl::Status& status);

  RawMemoryService& service_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_{&context_};
  Tag<ReadBufferStream> written_{this, &ReadBufferStream::OnWritten};
  Tag<ReadBufferStream> finished_{this, &ReadBufferStream::OnFinished};
  std::shared_ptr<RequestResources> resources_;
  std::shared_ptr<Buffer> buffer_;
  bool sending_ = false;
  int64_t next_ = 0;
  int64_t end_ = 0;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_BUFFER_STREAMS_H_
