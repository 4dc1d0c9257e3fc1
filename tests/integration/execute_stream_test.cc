// ExecuteStream over real sockets: pipelined commands, answers by id, failures of single commands,
// broken protocol.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "server/rpc/status_mapping.h"
#include "tests/integration/server_process.h"
#include "tests/testing/requests.h"

namespace winnow::testing {
namespace {

using ::testing::ElementsAre;

class ExecuteStreamTest : public ::testing::Test {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::ExecuteStreamRequest, v1::ExecuteStreamResponse>;

  void SetUp() override {
    ASSERT_TRUE(server_.running()) << server_.log();
    indexer_ = server_.Indexer();
    context_ = Patient();
    stream_ = indexer_->ExecuteStream(context_.get());
  }

  void Open() {
    v1::ExecuteStreamRequest open;
    open.mutable_open();
    ASSERT_TRUE(stream_->Write(open));
    v1::ExecuteStreamResponse answer;
    ASSERT_TRUE(stream_->Read(&answer));
    ASSERT_TRUE(answer.has_opened());
    credits_ = answer.credit_count();
    EXPECT_GT(credits_, 0);
  }

  // TopK of one row whose best two positions are `id % 3` and 3.
  static v1::ExecuteStreamRequest Command(int64_t id) {
    v1::ExecuteStreamRequest command;
    command.set_message_id(id);
    auto& step = *command.mutable_execute()->add_steps()->mutable_top_k();
    std::vector<float> scores = {0, 0, 0, 5};
    scores[id % 3] = 9;
    *step.mutable_scores() = FloatTensor(1, 4, scores);
    *step.mutable_lengths() = Int32Vector({4});
    step.set_k(2);
    step.set_order(v1::SELECTION_ORDER_SCORE);
    step.mutable_indices()->set_placement(v1::OUTPUT_PLACEMENT_INLINE);
    return command;
  }

  grpc::Status Finish() {
    stream_->WritesDone();
    v1::ExecuteStreamResponse answer;
    while (stream_->Read(&answer)) {
    }
    return stream_->Finish();
  }

  ServerProcess server_;
  std::unique_ptr<v1::IndexerService::Stub> indexer_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<Stream> stream_;
  int32_t credits_ = 0;
};

TEST_F(ExecuteStreamTest, PipelinedCommandsAreEachAnsweredOnceWithTheirResult) {
  Open();
  constexpr int64_t kCommands = 2000;
  std::map<int64_t, int> answered;
  int64_t sent = 0;
  int32_t credits = credits_;
  while (static_cast<int64_t>(answered.size()) < kCommands) {
    while (credits > 0 && sent < kCommands) {
      ASSERT_TRUE(stream_->Write(Command(++sent)));
      --credits;
    }
    v1::ExecuteStreamResponse answer;
    ASSERT_TRUE(stream_->Read(&answer));
    credits += answer.credit_count();
    ASSERT_TRUE(answer.has_result()) << answer.error().message();
    ASSERT_EQ(++answered[answer.message_id()], 1);
    ASSERT_THAT(ElementsOf<int32_t>(answer.result().results(0).outputs(0).tensor()),
                ElementsAre(static_cast<int32_t>(answer.message_id() % 3), 3));
  }
  EXPECT_TRUE(Finish().ok());
}

TEST_F(ExecuteStreamTest, AClientThatIgnoresItsCreditsIsHeldUpAndServed) {
  Open();
  for (int64_t id = 1; id <= 500; ++id) ASSERT_TRUE(stream_->Write(Command(id)));
  stream_->WritesDone();
  int answers = 0;
  v1::ExecuteStreamResponse answer;
  while (stream_->Read(&answer)) answers += answer.has_result();
  EXPECT_EQ(answers, 500);
  EXPECT_TRUE(stream_->Finish().ok());
}

TEST_F(ExecuteStreamTest, AFailedCommandDoesNotEndTheStream) {
  Open();
  v1::ExecuteStreamRequest bad = Command(1);
  bad.mutable_execute()->mutable_steps(0)->mutable_top_k()->set_k(4096);
  ASSERT_TRUE(stream_->Write(bad));
  v1::ExecuteStreamResponse answer;
  ASSERT_TRUE(stream_->Read(&answer));
  EXPECT_EQ(answer.message_id(), 1);
  EXPECT_EQ(answer.error().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_EQ(answer.error().detail().reason(), v1::ERROR_REASON_K_OUT_OF_RANGE);
  EXPECT_EQ(answer.error().detail().field(), "steps[0].k");
  ASSERT_TRUE(stream_->Write(Command(1)));
  ASSERT_TRUE(stream_->Read(&answer));
  EXPECT_TRUE(answer.has_result());
  EXPECT_TRUE(Finish().ok());
}

TEST_F(ExecuteStreamTest, AMessageThatBreaksTheProtocolEndsTheStream) {
  ASSERT_TRUE(stream_->Write(Command(1)));  // without open
  v1::ExecuteStreamResponse answer;
  EXPECT_FALSE(stream_->Read(&answer));
  const grpc::Status status = stream_->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const auto detail = server::GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->reason(), v1::ERROR_REASON_FIELD_MISSING);
  EXPECT_EQ(detail->field(), "open");
}

TEST_F(ExecuteStreamTest, ACancelledCommandIsStillAnsweredOnce) {
  Open();
  ASSERT_TRUE(stream_->Write(Command(1)));
  v1::ExecuteStreamRequest cancel;
  cancel.set_message_id(1);
  cancel.mutable_cancel();
  ASSERT_TRUE(stream_->Write(cancel));
  stream_->WritesDone();
  int answers = 0;
  v1::ExecuteStreamResponse answer;
  while (stream_->Read(&answer)) ++answers;
  EXPECT_EQ(answers, 1);
  EXPECT_TRUE(stream_->Finish().ok());
}

TEST_F(ExecuteStreamTest, ADrainAnswersWhatIsInFlight) {
  Open();
  for (int64_t id = 1; id <= 60; ++id) ASSERT_TRUE(stream_->Write(Command(id)));
  v1::ExecuteStreamResponse answer;
  ASSERT_TRUE(stream_->Read(&answer));
  server_.Signal(SIGTERM);
  int answers = 1;
  while (stream_->Read(&answer)) ++answers;
  EXPECT_EQ(server_.AwaitExit(), 0) << server_.log();
  EXPECT_GE(answers, 1);
  stream_->Finish();
}

}  // namespace
}  // namespace winnow::testing
