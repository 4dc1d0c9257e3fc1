// An ExecuteStream of a test. Everything waits for at most 30 seconds.

#ifndef WINNOW_TESTS_SERVER_APP_OPEN_STREAM_H_
#define WINNOW_TESTS_SERVER_APP_OPEN_STREAM_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/testing/requests.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::server {

// An ExecuteStream, open.
struct OpenStream {
  OpenStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& lease_id) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(120));
    context.set_wait_for_ready(true);
    stream = v1::IndexerService::NewStub(channel)->ExecuteStream(&context);
    v1::ExecuteStreamRequest open;
    open.mutable_open()->set_lease_id(lease_id);
    stream->Write(open);
    EXPECT_TRUE(Read().has_opened());
  }
  void Send(int64_t id) {
    v1::ExecuteStreamRequest command;
    command.set_message_id(id);
    *command.mutable_execute()->add_steps()->mutable_top_k() = winnow::testing::GoodTopK().step();
    stream->Write(command);
  }
  void Cancel(int64_t id) {
    v1::ExecuteStreamRequest command;
    command.set_message_id(id);
    command.mutable_cancel();
    stream->Write(command);
  }
  v1::ExecuteStreamResponse Read() {
    v1::ExecuteStreamResponse answer;
    EXPECT_TRUE(stream->Read(&answer));
    return answer;
  }

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExecuteStreamRequest, v1::ExecuteStreamResponse>>
      stream;
};

}  // namespace winnow::server

#endif  // WINNOW_TESTS_SERVER_APP_OPEN_STREAM_H_
