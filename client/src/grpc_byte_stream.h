// Byte streams over a gRPC channel.

#ifndef WINNOW_CLIENT_SRC_GRPC_BYTE_STREAM_H_
#define WINNOW_CLIENT_SRC_GRPC_BYTE_STREAM_H_

#include <grpcpp/channel.h>

#include <memory>

#include "client/src/byte_stream.h"
#include "client/src/completion_thread.h"

namespace winnow::client {

// Streams of ExecuteStream. Their handlers are called on `completions`, which outlives their Close.
ByteStreamOpener ExecuteStreamOpener(std::shared_ptr<grpc::Channel> channel,
                                     CompletionThread* completions);

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_GRPC_BYTE_STREAM_H_
