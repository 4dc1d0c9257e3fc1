// ExecuteStream on a server whose device works while the stream goes on, as a GPU does: answers
// come from the completion thread while the command before is still being handled.

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "server/app/server.h"
#include "server/backend/device_backend.h"
#include "tests/server/app/open_stream.h"
#include "tests/testing/fake_sharing.h"
#include "tests/testing/sharing_device.h"
#include "winnow/v1/indexer_service.grpc.pb.h"

namespace winnow::server {
namespace {

// The number of the next answer, negative for an error.
int64_t Answer(OpenStream& stream) {
  const v1::ExecuteStreamResponse answer = stream.Read();
  return answer.has_result() ? answer.message_id() : -answer.message_id();
}

class DeviceStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/winnow_device_stream.XXXXXX";
    folder_ = mkdtemp(path);
    SetLogLevel(LogLevel::kOff);
    ServerConfig config{.listeners = {"unix:" + folder_ + "/s"}};
    config.buffer_pool_bytes = config.staging_pool_bytes = int64_t{4} << 20;
    auto server = Server::Start(
        config, [](absl::Duration) {},
        [this](const BackendOptions&) {
          return DeviceBackend::Create(
              std::make_unique<testing::SharingDevice>(&sharing_),
              {.launch_slots = 2, .buffer_pool_bytes = 1 << 20, .staging_pool_bytes = 1 << 20});
        });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(config.listeners[0], grpc::InsecureChannelCredentials());
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Drain(absl::ZeroDuration());
    server_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  testing::FakeSharing sharing_;
  std::string folder_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(DeviceStreamTest, LoneCommandsAndThoseThatFollowEachOtherAreAllAnswered) {
  OpenStream stream(channel_, "");
  int64_t sent = 0;
  for (int turn = 0; turn < 300; ++turn) {
    // One, so that the stream reads ahead of the next, and now and then several.
    const int commands = turn % 7 == 6 ? 3 : 1;
    std::set<int64_t> waiting;
    for (int i = 0; i < commands; ++i) {
      stream.Send(++sent);
      waiting.insert(sent);
    }
    while (!waiting.empty()) ASSERT_EQ(waiting.erase(Answer(stream)), 1) << turn;
  }
  // Its error comes from the thread that reads, before anything is launched.
  v1::ExecuteStreamRequest empty;
  empty.set_message_id(++sent);
  empty.mutable_execute()->add_steps()->mutable_top_k();
  stream.stream->Write(empty);
  EXPECT_EQ(Answer(stream), -sent);
  stream.Send(++sent);
  stream.stream->WritesDone();
  EXPECT_EQ(Answer(stream), sent);
  EXPECT_TRUE(stream.stream->Finish().ok());
  server_->Drain(absl::ZeroDuration());
  server_ = nullptr;
  EXPECT_GE(sharing_.sets, sent / 3) << "launches that the completion thread ends";
}

TEST_F(DeviceStreamTest, StreamsThatAreCutWithACommandUnderWayDoNotHoldUpOthers) {
  for (int turn = 0; turn < 100; ++turn) {
    OpenStream stream(channel_, "");
    stream.Send(1);
    if (turn % 2 == 0) {
      EXPECT_EQ(Answer(stream), 1);
    }
    if (turn % 4 < 2) stream.Send(2);
    stream.context.TryCancel();
    EXPECT_EQ(stream.stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  OpenStream stream(channel_, "");
  stream.Send(1);
  EXPECT_EQ(Answer(stream), 1);
  stream.stream->WritesDone();
  EXPECT_TRUE(stream.stream->Finish().ok());
}

}  // namespace
}  // namespace winnow::server
