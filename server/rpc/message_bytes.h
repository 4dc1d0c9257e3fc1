// Messages from and to the byte buffers of gRPC.

#ifndef WINNOW_SERVER_RPC_MESSAGE_BYTES_H_
#define WINNOW_SERVER_RPC_MESSAGE_BYTES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"

namespace winnow::server {

// Room for what surrounds the inline bytes of a request: field tags, shapes, up to 64 steps.
inline constexpr int64_t kMessageOverheadBytes = int64_t{256} << 10;

// A message up to here is parsed and checked within a fraction of a millisecond, on the thread that
// polls a queue. Larger ones go to RpcEnvironment::large_requests, so that nobody waits for them.
inline constexpr int64_t kMaxQuickBytes = int64_t{1} << 20;

// Fills `message` from `buffer`, and frees the buffer. ResourceExhausted (MESSAGE_TOO_LARGE) when
// it holds more than `max_bytes`, InvalidArgument (MESSAGE_MALFORMED) when its bytes are not those
// of such a message. A length inside the message reserves no more memory than the buffer has bytes.
absl::Status ParseMessage(grpc::ByteBuffer& buffer, int64_t max_bytes,
                          google::protobuf::MessageLite& message);

// ResourceExhausted (MESSAGE_TOO_LARGE) when the message does not fit 2 GiB, the bound of the wire
// format.
absl::Status SerializeMessage(const google::protobuf::MessageLite& message,
                              grpc::ByteBuffer& buffer);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_MESSAGE_BYTES_H_
