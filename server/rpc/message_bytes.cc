#include "server/rpc/message_bytes.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

absl::Status TooLarge(absl::string_view what, int64_t bytes, int64_t limit) {
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      absl::StrCat("the ", what, " has ", bytes, " bytes; this server accepts ", limit),
      {.reason = ErrorReason::kMessageTooLarge,
       .value = absl::StrCat(bytes),
       .limit = absl::StrCat("at most ", limit)});
}

bool Parse(grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message) {
  const auto bytes = static_cast<int>(buffer.Length());
  grpc::Slice slice;
  if (buffer.TrySingleSlice(&slice).ok()) return message.ParseFromArray(slice.begin(), bytes);
  grpc::ProtoBufferReader reader(&buffer);
  if (!reader.status().ok()) return false;
  return message.ParseFromBoundedZeroCopyStream(&reader, bytes);
}

}  // namespace

absl::Status ParseMessage(grpc::ByteBuffer& buffer, int64_t max_bytes,
                          google::protobuf::MessageLite& message) {
  const auto bytes = static_cast<int64_t>(buffer.Length());
  if (bytes > max_bytes) return TooLarge("request", bytes, max_bytes);
  const bool parsed = Parse(buffer, message);
  buffer.Clear();
  if (parsed) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   absl::StrCat("the ", bytes, " bytes of the request are no ",
                                message.GetTypeName(), "; send one in the protobuf wire format"),
                   {.reason = ErrorReason::kMessageMalformed,
                    .value = absl::StrCat(bytes),
                    .limit = message.GetTypeName()});
}

absl::Status SerializeMessage(const google::protobuf::MessageLite& message,
                              grpc::ByteBuffer& buffer) {
  const size_t bytes = message.ByteSizeLong();
  constexpr int64_t kMaxBytes = std::numeric_limits<int32_t>::max();
  if (static_cast<int64_t>(bytes) > kMaxBytes) {
    return TooLarge("reply", static_cast<int64_t>(bytes), kMaxBytes);
  }
  grpc::Slice slice(bytes);
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  buffer = grpc::ByteBuffer(&slice, 1);
  return absl::OkStatus();
}

}  // namespace winnow::server
