// A server whose replies are no messages, or changed ones, in several pieces: the client says so or
// gives what they spell, and goes on.

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/src/grpc_stub.h"
#include "tests/testing/random.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/v1/indexer_service.pb.h"
#include "winnow/v1/memory_service.pb.h"

namespace winnow::client {
namespace {

using winnow::testing::Random;
using winnow::testing::StatusIs;

// Of bytes that are no message; a message that makes no sense fails with a longer text.
constexpr char kMalformedReply[] = "the server's reply is malformed";
constexpr char kMalformedAnswer[] = "the server's answer is malformed";  // to a command

// What every call is answered with once its first message has come.
struct Answer {
  std::vector<grpc::ByteBuffer> messages;
  bool ends = true;  // with OK; otherwise the call stays open until the client cancels it
};

class HostileService final : public grpc::CallbackGenericService {
 public:
  void Set(Answer answer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answer_ = std::move(answer);
  }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return new Reactor(answer_);
  }

 private:
  // Deletes itself when the call is done.
  class Reactor final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Reactor(Answer answer) : answer_(std::move(answer)) { StartRead(&request_); }
    void OnReadDone(bool ok) override { ok ? WriteNext() : End(grpc::Status::CANCELLED); }
    void OnWriteDone(bool ok) override { ok ? WriteNext() : End(grpc::Status::CANCELLED); }
    void OnCancel() override { End(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }

   private:
    void WriteNext() {
      if (written_ < answer_.messages.size()) return StartWrite(&answer_.messages[written_++]);
      if (answer_.ends) End(grpc::Status::OK);
    }
    void End(const grpc::Status& status) {
      if (!ended_.exchange(true)) Finish(status);
    }

    grpc::ByteBuffer request_;
    Answer answer_;
    size_t written_ = 0;
    std::atomic<bool> ended_{false};
  };

  std::mutex mutex_;
  Answer answer_;
};

// Field 1, of a length that the bytes do not have.
grpc::ByteBuffer Malformed() {
  const grpc::Slice slice("\x0a\x7fscores");
  return grpc::ByteBuffer(&slice, 1);
}

// Small parts, so that a changed byte is often one that matters.
v1::StepResult ManyOutputs() {
  v1::StepResult result;
  for (int i = 0; i < 300; ++i) {
    v1::Tensor& tensor = *result.add_outputs()->mutable_tensor();
    tensor.set_data_type(v1::DATA_TYPE_INT32);
    tensor.set_inline_data("1234");
  }
  return result;
}

std::string UnaryReply() {
  v1::TopKResponse response;
  *response.mutable_result() = ManyOutputs();
  return response.SerializeAsString();
}

std::string StreamOpened() {
  v1::ExecuteStreamResponse opened;
  opened.mutable_opened();
  opened.set_credit_count(1000);
  return opened.SerializeAsString();
}

std::string CommandAnswer() {
  v1::ExecuteStreamResponse answer;
  answer.set_message_id(1);
  *answer.mutable_result()->add_results() = ManyOutputs();
  return answer.SerializeAsString();
}

std::string ReadChunk() {
  v1::ReadBufferResponse chunk;
  chunk.set_data(std::string(200, 'x'));
  return chunk.SerializeAsString();
}

class HostileServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "winnow-hostile-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    grpc::ServerBuilder builder;
    builder.AddListeningPort(target(), grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void TearDown() override {
    server_->Shutdown();
    std::filesystem::remove_all(folder_);
  }

  std::string target() const { return "unix:" + folder_ + "/s"; }
  Client MakeClient(bool streaming) const {
    auto client =
        Client::Create({.target = target(), .retry = RetryPolicy::Never(), .streaming = streaming});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  // A stream of messages from the server, read until it fails.
  absl::Status ReadAll() const {
    CompletionThread completions;
    GrpcStub stub(grpc::CreateChannel(target(), grpc::InsecureChannelCredentials()), &completions);
    const Metadata none;
    const auto stream = stub.OpenStream("/winnow.v1.MemoryService/ReadBuffer", {.metadata = &none});
    EXPECT_TRUE(stream->Write(v1::ReadBufferRequest()));
    v1::ReadBufferResponse chunk;
    while (stream->Read(chunk)) {
    }
    return stream->Finish();
  }

  const std::vector<float> scores_ = {1, 2, 3};
  const TopKRequest request_ = {.scores = Float32Matrix(scores_.data(), 1, 3), .k = 3};
  std::string folder_;
  HostileService service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(HostileServerTest, AMalformedReplyIsAnError) {
  service_.Set({.messages = {Malformed()}});
  const Client client = MakeClient(/*streaming=*/false);
  const auto malformed = StatusIs(absl::StatusCode::kInternal, kMalformedReply);
  EXPECT_THAT(client.TopK(request_), malformed);
  EXPECT_THAT(client.AsyncTopK(request_).Get(), malformed);
}

TEST_F(HostileServerTest, ACallThatEndsWellWithoutAReplyIsAnError) {
  service_.Set({});
  const Client client = MakeClient(/*streaming=*/false);
  const auto no_reply = StatusIs(absl::StatusCode::kInternal, "the server sent no reply");
  EXPECT_THAT(client.TopK(request_), no_reply);
  EXPECT_THAT(client.AsyncTopK(request_).Get(), no_reply);
}

TEST_F(HostileServerTest, AMalformedMessageEndsAStreamThatItsServerLeavesOpen) {
  service_.Set({.messages = {Malformed()}, .ends = false});
  EXPECT_THAT(ReadAll(), StatusIs(absl::StatusCode::kInternal, kMalformedReply));
}

TEST_F(HostileServerTest, AMalformedAnswerFailsTheCommandsOfItsStream) {
  service_.Set({.messages = {Malformed()}, .ends = false});
  const Client client = MakeClient(/*streaming=*/true);
  EXPECT_THAT(client.TopK(request_), StatusIs(absl::StatusCode::kInternal, kMalformedAnswer));
}

// `valid` with a few bytes changed, and behind it small fields that nobody knows, one of them
// changed. That one is where gRPC, which reads 8 KiB of a socket at a time and the headers first,
// cuts the message in two: a message that ends just before a cut is what its reader aborts on when
// it is told how long the message is.
grpc::ByteBuffer Changed(const std::string& valid, Random& random) {
  constexpr size_t kBytes = 9'000;
  constexpr unsigned char kEnds[] = {0x00, 0x7c};  // no tag, and the end of a group
  std::string bytes = valid;
  for (int64_t change = random.Below(4); change > 0; --change) {
    bytes[random.Below(static_cast<int64_t>(valid.size()))] = static_cast<char>(random.Below(256));
  }
  while (bytes.size() < kBytes) bytes += "\x78\x01";  // field 15
  const int64_t at = random.Between(7'850, 8'050);
  bytes[at] = static_cast<char>(random.OneIn(3) ? random.Below(256) : kEnds[random.Below(2)]);
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

int Unreadable(const absl::Status& status) {
  const bool unreadable =
      status.message() == kMalformedReply || status.message() == kMalformedAnswer;
  return unreadable ? 1 : 0;
}

TEST_F(HostileServerTest, RepliesOfChangedBytesAreRefusedOrRead) {
  constexpr int kRounds = 600;
  Random random(winnow::testing::SeedFromEnvironment("WINNOW_HOSTILE_SEED"));
  const Client client = MakeClient(/*streaming=*/false);
  const Client streaming = MakeClient(/*streaming=*/true);
  const std::string unary = UnaryReply(), answer = CommandAnswer(), chunk = ReadChunk();
  const grpc::Slice opened_bytes(StreamOpened());
  const grpc::ByteBuffer opened(&opened_bytes, 1);
  int calls = 0, commands = 0, streams = 0;
  for (int round = 0; round < kRounds; ++round) {
    service_.Set({.messages = {Changed(unary, random)}});
    calls += Unreadable(client.TopK(request_).status());
    calls += Unreadable(client.AsyncTopK(request_).Get().status());
    service_.Set({.messages = {opened, Changed(answer, random)}});
    commands += Unreadable(streaming.TopK(request_).status());
    service_.Set({.messages = {Changed(chunk, random)}});
    streams += Unreadable(ReadAll());
  }
  for (const int unreadable : {calls, commands, streams}) EXPECT_GT(unreadable, 0);
}

}  // namespace
}  // namespace winnow::client
