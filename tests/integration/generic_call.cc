#include "tests/integration/generic_call.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/server_process.h"

namespace winnow::testing {
namespace {

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string BytesIn(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

grpc::Status CallWithBytes(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                           const std::string& request, std::string* reply) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  auto context = Patient();
  auto call =
      stub.PrepareUnaryCall(context.get(), absl::StrCat("/", method), BufferOf(request), &queue);
  call->StartCall();
  grpc::ByteBuffer received;
  grpc::Status status;
  call->Finish(&received, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (status.ok() && reply != nullptr) *reply = BytesIn(received);
  return status;
}

ByteStream::ByteStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                       const std::string& request)
    : stub_(channel), context_(Patient()) {
  stream_ = stub_.PrepareCall(context_.get(), absl::StrCat("/", method), &queue_);
  stream_->StartCall(nullptr);
  if (!Await()) return;
  stream_->WriteLast(BufferOf(request), grpc::WriteOptions(), nullptr);
  Await();
}

ByteStream::~ByteStream() {
  context_->TryCancel();
  grpc::Status status;
  stream_->Finish(&status, nullptr);
  Await();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

std::optional<std::string> ByteStream::Read() {
  grpc::ByteBuffer received;
  stream_->Read(&received, nullptr);
  if (!Await()) return std::nullopt;
  return BytesIn(received);
}

bool ByteStream::Await() {
  void* tag = nullptr;
  bool ok = false;
  return queue_.Next(&tag, &ok) && ok;
}

}  // namespace winnow::testing
