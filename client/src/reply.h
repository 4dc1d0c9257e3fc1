// A reply on its way in. Of one that it cannot read gRPC says no more than that an operation has
// failed, and leaves the call its server's status, which may well be OK.

#ifndef WINNOW_CLIENT_SRC_REPLY_H_
#define WINNOW_CLIENT_SRC_REPLY_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/serialization_traits.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace winnow::client {

struct Reply {
  enum class State { kNone, kRead, kMalformed };

  // Internal unless it was read.
  absl::Status status() const {
    switch (state) {
      case State::kNone:
        return absl::InternalError("the server sent no reply");
      case State::kRead:
        return absl::OkStatus();
      case State::kMalformed:
        break;
    }
    return absl::InternalError("the server's reply is malformed");
  }

  google::protobuf::MessageLite* message = nullptr;  // outlives the call
  State state = State::kNone;
};

}  // namespace winnow::client

namespace grpc {

template <>
class SerializationTraits<winnow::client::Reply> {
 public:
  static Status Deserialize(ByteBuffer* bytes, winnow::client::Reply* reply) {
    using State = winnow::client::Reply::State;
    const Status status =
        SerializationTraits<google::protobuf::MessageLite>::Deserialize(bytes, reply->message);
    reply->state = status.ok() ? State::kRead : State::kMalformed;
    return status;
  }
};

}  // namespace grpc

#endif  // WINNOW_CLIENT_SRC_REPLY_H_
