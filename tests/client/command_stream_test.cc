// Commands on a stream that the test answers by hand.

#include "client/src/command_stream.h"

#include <gmock/gmock.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "winnow/kernels/error.h"

namespace winnow::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::winnow::testing::FailsWith;

// Keeps timers until the test rings them.
class ManualClock final : public Clock {
 public:
  absl::Time Now() const override { return now; }
  void After(absl::Duration, std::stop_token, absl::AnyInvocable<void() &&> done) override {
    timers.push_back(std::move(done));
  }
  void Pass(absl::Duration time) {
    now += time;
    std::deque<absl::AnyInvocable<void() &&>> due;
    due.swap(timers);
    for (auto& timer : due) std::move(timer)();
  }

  absl::Time now = absl::FromUnixSeconds(1'000'000);
  std::deque<absl::AnyInvocable<void() &&>> timers;
};

class ScriptedStream final : public ByteStream {
 public:
  void Write(grpc::ByteBuffer message) override {
    v1::ExecuteStreamRequest request;
    EXPECT_TRUE(
        grpc::SerializationTraits<v1::ExecuteStreamRequest>::Deserialize(&message, &request).ok());
    EXPECT_FALSE(writing) << "one write at a time";
    writing = true;
    written.push_back(request);
  }
  void Read() override { ++reads; }
  void Close() override { closed = true; }

  bool writing = false;
  bool closed = false;
  int reads = 0;
  std::vector<v1::ExecuteStreamRequest> written;
};

class CommandStreamTest : public ::testing::Test {
 protected:
  CommandStreamTest() {
    commands_ = CommandStream::Open(
        [this](std::shared_ptr<ByteStream::Handler> handler, bool) {
          handler_ = std::move(handler);
          return stream_;
        },
        "lease", /*wait_for_ready=*/false, &clock_);
  }
  ~CommandStreamTest() override { commands_->Close(); }

  void OpenWith(int32_t credits) {
    handler_->OnStarted();
    FinishWrite();
    v1::ExecuteStreamResponse opened;
    opened.mutable_opened()->set_max_inline_bytes(1 << 20);
    opened.set_credit_count(credits);
    Deliver(opened);
  }
  void FinishWrite() {
    ASSERT_TRUE(stream_->writing);
    stream_->writing = false;
    handler_->OnWritten();
  }
  void Deliver(const v1::ExecuteStreamResponse& answer) {
    grpc::ByteBuffer bytes;
    bool own = false;
    ASSERT_TRUE(
        grpc::SerializationTraits<v1::ExecuteStreamResponse>::Serialize(answer, &bytes, &own).ok());
    handler_->OnRead(std::move(bytes));
  }
  void Answer(int64_t id) {
    v1::ExecuteStreamResponse answer;
    answer.set_message_id(id);
    answer.set_credit_count(1);
    answer.mutable_result()->mutable_timing()->set_batch_row_count(id);
    Deliver(answer);
  }
  // Numbers of the commands that were sent, 0 for control messages.
  std::vector<int64_t> Sent() const {
    std::vector<int64_t> ids;
    for (const v1::ExecuteStreamRequest& message : stream_->written) {
      ids.push_back(message.has_execute() ? message.message_id() : 0);
    }
    return ids;
  }
  struct Outcome {
    absl::Status status;
    int64_t rows = -1;
  };
  std::shared_ptr<std::optional<Outcome>> Submit(absl::Duration timeout = absl::InfiniteDuration(),
                                                 std::stop_token stop = {}) {
    auto outcome = std::make_shared<std::optional<Outcome>>();
    commands_->Submit({&step_}, timeout, std::move(stop),
                      [outcome](absl::Status status, v1::ExecuteResponse* result) {
                        EXPECT_FALSE(outcome->has_value()) << "answered once";
                        *outcome =
                            Outcome{std::move(status),
                                    result == nullptr ? -1 : result->timing().batch_row_count()};
                      });
    return outcome;
  }

  ManualClock clock_;
  v1::Step step_;
  std::shared_ptr<ScriptedStream> stream_ = std::make_shared<ScriptedStream>();
  std::shared_ptr<ByteStream::Handler> handler_;
  std::shared_ptr<CommandStream> commands_;
};

TEST_F(CommandStreamTest, NothingIsSentBeforeTheStreamHasStartedAndOpened) {
  const auto early = Submit();
  EXPECT_THAT(stream_->written, IsEmpty());
  handler_->OnStarted();
  EXPECT_THAT(Sent(), ElementsAre(0));
  EXPECT_EQ(stream_->written[0].open().lease_id(), "lease");
  FinishWrite();
  EXPECT_THAT(Sent(), ElementsAre(0)) << "no credit yet";
  v1::ExecuteStreamResponse opened;
  opened.mutable_opened();
  opened.set_credit_count(1);
  Deliver(opened);
  EXPECT_THAT(Sent(), ElementsAre(0, 1));
  EXPECT_FALSE(early->has_value());
}

TEST_F(CommandStreamTest, AnswersMayComeInAnyOrder) {
  OpenWith(4);
  const auto first = Submit();
  FinishWrite();
  const auto second = Submit();
  FinishWrite();
  Answer(2);
  ASSERT_TRUE(second->has_value());
  EXPECT_OK((*second)->status);
  EXPECT_EQ((*second)->rows, 2);
  EXPECT_FALSE(first->has_value());
  Answer(1);
  EXPECT_EQ((*first)->rows, 1);
}

TEST_F(CommandStreamTest, NoMoreIsSentThanThereAreCredits) {
  OpenWith(2);
  for (int i = 0; i < 4; ++i) Submit();
  FinishWrite();
  FinishWrite();
  EXPECT_THAT(Sent(), ElementsAre(0, 1, 2));
  Answer(1);
  EXPECT_THAT(Sent(), ElementsAre(0, 1, 2, 3)) << "an answer brings one credit";
}

TEST_F(CommandStreamTest, AFailedCommandHasTheServersErrorAndTheStreamGoesOn) {
  OpenWith(2);
  const auto failed = Submit();
  FinishWrite();
  v1::ExecuteStreamResponse answer;
  answer.set_message_id(1);
  answer.set_credit_count(1);
  answer.mutable_error()->set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
  answer.mutable_error()->set_message("steps[0].k is 0");
  answer.mutable_error()->mutable_detail()->set_reason(v1::ERROR_REASON_K_OUT_OF_RANGE);
  answer.mutable_error()->mutable_detail()->set_field("steps[0].k");
  Deliver(answer);
  EXPECT_THAT((*failed)->status, FailsWith(ErrorReason::kKOutOfRange, "steps[0].k"));
  EXPECT_FALSE(commands_->over());
}

TEST_F(CommandStreamTest, TheEndOfTheStreamFailsWhatIsUnderWayAndWhatComesLater) {
  OpenWith(1);
  const auto sent = Submit();
  const auto unsent = Submit();
  handler_->OnFinished(absl::UnavailableError("socket closed"));
  EXPECT_TRUE(absl::IsUnavailable((*sent)->status));
  EXPECT_TRUE(absl::IsUnavailable((*unsent)->status));
  EXPECT_TRUE(commands_->over());
  EXPECT_TRUE(absl::IsUnavailable((*Submit())->status));
}

TEST_F(CommandStreamTest, ACancelledCommandFailsAtOnceAndTheServerIsTold) {
  OpenWith(1);
  std::stop_source stop;
  const auto sent = Submit(absl::InfiniteDuration(), stop.get_token());
  const auto unsent = Submit(absl::InfiniteDuration(), stop.get_token());
  FinishWrite();
  stop.request_stop();
  EXPECT_TRUE(absl::IsCancelled((*sent)->status));
  EXPECT_TRUE(absl::IsCancelled((*unsent)->status));
  ASSERT_EQ(stream_->written.size(), 3u) << "only what was sent is to be dropped";
  EXPECT_TRUE(stream_->written[2].has_cancel());
  EXPECT_EQ(stream_->written[2].message_id(), 1);
  FinishWrite();
  Answer(1);  // late: nobody waits, but its credit counts
  Submit();
  EXPECT_EQ(stream_->written.back().message_id(), 3);
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_TRUE(absl::IsCancelled((*Submit(absl::InfiniteDuration(), stopped.get_token()))->status));
}

TEST_F(CommandStreamTest, ADeadlineEndsACommandThatTheServerDoesNotAnswer) {
  OpenWith(2);
  const auto hurried = Submit(absl::Milliseconds(250));
  FinishWrite();
  EXPECT_EQ(stream_->written.back().execute().queue_timeout_duration().nanos(), 250'000'000);
  const auto patient = Submit(absl::Seconds(60));
  FinishWrite();
  EXPECT_EQ(clock_.timers.size(), 1u) << "one timer for all";
  clock_.Pass(CommandStream::kSweepPeriod);
  EXPECT_FALSE(hurried->has_value());
  clock_.Pass(absl::Milliseconds(200));
  ASSERT_TRUE(hurried->has_value());
  EXPECT_TRUE(absl::IsDeadlineExceeded((*hurried)->status));
  EXPECT_FALSE(patient->has_value());
  FinishWrite();  // the cancellation
  Answer(2);
  clock_.Pass(CommandStream::kSweepPeriod);
  EXPECT_TRUE(clock_.timers.empty()) << "no timer without commands";
}

TEST_F(CommandStreamTest, ClosingFailsEverythingAndCancelsTheStream) {
  OpenWith(1);
  const auto pending = Submit();
  commands_->Close();
  EXPECT_TRUE(absl::IsCancelled((*pending)->status));
  EXPECT_TRUE(stream_->closed);
}

TEST_F(CommandStreamTest, AnAnswerThatCannotBeReadEndsTheStream) {
  OpenWith(1);
  const auto pending = Submit();
  const grpc::Slice garbage("\xff\xff\xff");
  handler_->OnRead(grpc::ByteBuffer(&garbage, 1));
  EXPECT_TRUE(absl::IsInternal((*pending)->status));
  EXPECT_TRUE(stream_->closed);
}

}  // namespace
}  // namespace winnow::client
