// Every test runs on both forms of a call: blocking and asynchronous.
#include "client/src/call.h"

#include <gmock/gmock.h>
#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "tests/client/fakes.h"
#include "tests/testing/status_matchers.h"

namespace winnow::client {
namespace {

using ::google::protobuf::Int32Value;
using ::google::protobuf::StringValue;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::winnow::testing::IsOk;
using ::winnow::testing::StatusIs;

enum class Form { kBlocking, kAsync };

struct Fixture {
  explicit Fixture(Form form) : form(form) {}

  absl::Status Run() {
    if (form == Form::kBlocking) {
      Int32Value response;
      return RunCall(environment, settings, stop.get_token(), StringValue(), response);
    }
    std::optional<absl::Status> result;
    StartCall(environment, settings, stop.get_token(),
              {std::make_unique<StringValue>(), std::make_unique<Int32Value>()},
              [&](const absl::Status& status, const AsyncMessages& messages) {
                EXPECT_FALSE(result.has_value());
                EXPECT_NE(messages.response, nullptr);
                result = status;
              });
    EXPECT_TRUE(result.has_value());
    return result.value_or(absl::UnknownError("never called back"));
  }

  Form form;
  FakeStub stub;
  FakeClock clock;
  double jitter = 1.0;  // full backoffs, so that the waits are round numbers
  CallEnvironment environment = {&stub, &clock, [this] { return jitter; }, "unix:/run/w.sock"};
  CallSettings settings = {.method = "/a/B",
                           .timeout = absl::Seconds(10),
                           .retry = {.max_attempts = 4,
                                     .initial_backoff = absl::Milliseconds(10),
                                     .max_backoff = absl::Milliseconds(30)}};
  std::stop_source stop;
};

class CallTest : public ::testing::TestWithParam<Form> {
 protected:
  Fixture call_{GetParam()};
};

TEST_P(CallTest, AFirstSuccessIsTheResult) {
  EXPECT_OK(call_.Run());
  ASSERT_EQ(call_.stub.asked.size(), 1u);
  EXPECT_EQ(call_.stub.asked[0].method, "/a/B");
  EXPECT_EQ(call_.stub.asked[0].timeout, absl::Seconds(10));
  EXPECT_THAT(call_.clock.waits, IsEmpty());
}

TEST_P(CallTest, TransientFailuresAreRepeatedWithGrowingBackoffs) {
  call_.stub.script = {QueueFull(), absl::UnavailableError("reset"), Draining()};
  EXPECT_OK(call_.Run());
  EXPECT_THAT(call_.clock.waits,
              ElementsAre(absl::Milliseconds(10), absl::Milliseconds(20), absl::Milliseconds(30)));
}

TEST_P(CallTest, EachAttemptGetsTheTimeThatIsLeft) {
  call_.stub.script = {Draining()};
  call_.stub.during_call = [this] { call_.clock.now += absl::Seconds(2); };
  EXPECT_OK(call_.Run());
  ASSERT_EQ(call_.stub.asked.size(), 2u);
  EXPECT_EQ(call_.stub.asked[1].timeout, absl::Seconds(8) - absl::Milliseconds(10));
}

TEST_P(CallTest, TheLastErrorIsReturnedWhenTheAttemptsAreUsedUp) {
  call_.stub.script = {Draining(), Draining(), Draining(), QueueFull()};
  const absl::Status status = call_.Run();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, "the queue is full"));
  EXPECT_EQ(GetErrorInfo(status)->reason, ErrorReason::kQueueFull);
  EXPECT_EQ(call_.stub.asked.size(), 4u);
}

TEST_P(CallTest, APolicyOfOneAttemptNeverRepeats) {
  call_.settings.retry = RetryPolicy::Never();
  call_.stub.script = {Draining()};
  EXPECT_FALSE(call_.Run().ok());
  EXPECT_EQ(call_.stub.asked.size(), 1u);
}

TEST_P(CallTest, AWaitPastTheDeadlineIsNotBegun) {
  call_.stub.script = {QueueFull(9'999), QueueFull()};
  call_.settings.timeout = absl::Seconds(10);
  call_.stub.during_call = [this] { call_.clock.now += absl::Milliseconds(1); };
  EXPECT_THAT(call_.Run(), StatusIs(absl::StatusCode::kResourceExhausted, "the queue is full"));
  EXPECT_THAT(call_.clock.waits, IsEmpty());
}

TEST_P(CallTest, TheServersSuggestionLengthensTheWait) {
  call_.stub.script = {QueueFull(500), QueueFull(1)};
  EXPECT_OK(call_.Run());
  EXPECT_THAT(call_.clock.waits, ElementsAre(absl::Milliseconds(500), absl::Milliseconds(20)));
}

TEST_P(CallTest, AnInfiniteTimeoutStaysInfinite) {
  call_.settings.timeout = absl::InfiniteDuration();
  call_.stub.script = {Draining()};
  EXPECT_OK(call_.Run());
  EXPECT_EQ(call_.stub.asked[1].timeout, absl::InfiniteDuration());
}

TEST_P(CallTest, ATimeoutOfZeroFailsWithoutAnAttempt) {
  call_.settings.timeout = absl::ZeroDuration();
  EXPECT_THAT(call_.Run(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("timeout of 0")));
  EXPECT_THAT(call_.stub.asked, IsEmpty());
}

TEST_P(CallTest, AStopBeforeTheStartMakesNoAttempt) {
  call_.stop.request_stop();
  EXPECT_THAT(call_.Run(), StatusIs(absl::StatusCode::kCancelled, "the caller cancelled the call"));
  EXPECT_THAT(call_.stub.asked, IsEmpty());
}

TEST_P(CallTest, AStopDuringAnAttemptIsCancelledWhateverTheAttemptSays) {
  call_.stub.script = {absl::UnavailableError("reset")};
  call_.stub.during_call = [this] { call_.stop.request_stop(); };
  EXPECT_THAT(call_.Run(), StatusIs(absl::StatusCode::kCancelled, "the caller cancelled the call"));
  EXPECT_EQ(call_.stub.asked.size(), 1u);
}

TEST_P(CallTest, AResultThatCameBeforeTheStopIsKept) {
  call_.stub.during_call = [this] { call_.stop.request_stop(); };
  EXPECT_OK(call_.Run());
}

TEST_P(CallTest, AStopWhileWaitingMakesNoFurtherAttempt) {
  call_.stub.script = {Draining()};
  call_.clock.before_wait = [this] { call_.stop.request_stop(); };
  EXPECT_THAT(call_.Run(), StatusIs(absl::StatusCode::kCancelled, "the caller cancelled the call"));
  EXPECT_EQ(call_.stub.asked.size(), 1u);
}

TEST_P(CallTest, AnUnreachableServerIsNamed) {
  call_.settings.retry = RetryPolicy::Never();
  call_.stub.script = {absl::UnavailableError("No such file or directory")};
  EXPECT_THAT(call_.Run(), StatusIs(absl::StatusCode::kUnavailable,
                                    "cannot reach the server at unix:/run/w.sock: No such file or "
                                    "directory"));
}

TEST_P(CallTest, ATimeoutTellsWhatFailedBefore) {
  call_.stub.script = {QueueFull(), absl::DeadlineExceededError("Deadline Exceeded")};
  EXPECT_THAT(call_.Run(),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("timeout of 10s"),
                             HasSubstr("the attempt before failed: the queue is full"))));
}

TEST_P(CallTest, ATimeoutWithoutAConnectionSaysThatNothingAnswered) {
  call_.stub.connected = false;
  call_.stub.script = {absl::DeadlineExceededError("Deadline Exceeded")};
  EXPECT_THAT(call_.Run(),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "no server answered at unix:/run/w.sock within the timeout of 10s"));
}

TEST_P(CallTest, ADeadlineThatTheServerExplainsKeepsItsReason) {
  const absl::Status expired =
      MakeError(absl::StatusCode::kDeadlineExceeded, "the deadline passed in the queue",
                {.reason = ErrorReason::kDeadlineExpired});
  call_.stub.script = {expired};
  EXPECT_EQ(call_.Run(), expired);
}

TEST_P(CallTest, OptionsReachTheStub) {
  call_.settings.wait_for_ready = true;
  call_.settings.metadata = {{"k", "v"}};
  EXPECT_OK(call_.Run());
  EXPECT_TRUE(call_.stub.asked[0].wait_for_ready);
  EXPECT_THAT(call_.stub.asked[0].metadata, ElementsAre(std::pair("k", "v")));
}

INSTANTIATE_TEST_SUITE_P(Forms, CallTest, ::testing::Values(Form::kBlocking, Form::kAsync),
                         [](const auto& info) {
                           return info.param == Form::kBlocking ? "Blocking" : "Async";
                         });

// The retry matrix: which errors are repeated.
struct RetryCase {
  const char* name;
  absl::StatusCode code;
  ErrorReason reason;  // kUnspecified: no ErrorInfo
  bool repeated;
};

class RetryMatrixTest : public ::testing::TestWithParam<std::tuple<Form, RetryCase>> {};

TEST_P(RetryMatrixTest, OnlyTransientErrorsAreRepeated) {
  const auto& [form, error] = GetParam();
  Fixture call(form);
  call.stub.script = {error.reason == ErrorReason::kUnspecified
                          ? absl::Status(error.code, "m")
                          : MakeError(error.code, "m", {.reason = error.reason})};
  const absl::Status status = call.Run();
  EXPECT_EQ(call.stub.asked.size(), error.repeated ? 2u : 1u);
  EXPECT_EQ(status.code(), error.repeated ? absl::StatusCode::kOk : error.code);
}

using absl::StatusCode;
INSTANTIATE_TEST_SUITE_P(
    Errors, RetryMatrixTest,
    ::testing::Combine(
        ::testing::Values(Form::kBlocking, Form::kAsync),
        ::testing::Values(
            RetryCase{"BrokenConnection", StatusCode::kUnavailable, ErrorReason::kUnspecified,
                      true},
            RetryCase{"Draining", StatusCode::kUnavailable, ErrorReason::kServerDraining, true},
            RetryCase{"DeviceLost", StatusCode::kUnavailable, ErrorReason::kDeviceLost, true},
            RetryCase{"QueueFull", StatusCode::kResourceExhausted, ErrorReason::kQueueFull, true},
            RetryCase{"ExhaustedWithoutReason", StatusCode::kResourceExhausted,
                      ErrorReason::kUnspecified, false},
            RetryCase{"MessageTooLarge", StatusCode::kResourceExhausted,
                      ErrorReason::kMessageTooLarge, false},
            RetryCase{"QuotaExceeded", StatusCode::kResourceExhausted, ErrorReason::kQuotaExceeded,
                      false},
            RetryCase{"BadRequest", StatusCode::kInvalidArgument, ErrorReason::kKOutOfRange, false},
            RetryCase{"PlanStale", StatusCode::kFailedPrecondition, ErrorReason::kPlanStale, false},
            RetryCase{"Expired", StatusCode::kDeadlineExceeded, ErrorReason::kDeadlineExpired,
                      false},
            RetryCase{"Cancelled", StatusCode::kCancelled, ErrorReason::kRequestCancelled, false},
            RetryCase{"NotInBuild", StatusCode::kUnimplemented, ErrorReason::kNotInBuild, false},
            RetryCase{"NotFound", StatusCode::kNotFound, ErrorReason::kResourceNotFound, false},
            RetryCase{"Denied", StatusCode::kPermissionDenied, ErrorReason::kPermissionDenied,
                      false},
            RetryCase{"Aborted", StatusCode::kAborted, ErrorReason::kUnspecified, false},
            RetryCase{"Unknown", StatusCode::kUnknown, ErrorReason::kUnspecified, false},
            RetryCase{"Bug", StatusCode::kInternal, ErrorReason::kInternal, false})),
    [](const auto& info) {
      return std::string(std::get<0>(info.param) == Form::kBlocking ? "Blocking" : "Async") +
             std::get<1>(info.param).name;
    });

}  // namespace
}  // namespace winnow::client
