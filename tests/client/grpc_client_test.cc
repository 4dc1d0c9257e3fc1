// Blocking calls over a real socket.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/client/fake_server.h"
#include "tests/testing/random.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/client/lease.h"

namespace winnow::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::winnow::testing::StatusIs;

class GrpcClientTest : public ::testing::Test {
 protected:
  Client MakeClient() { return MakeClient(server_.client_options()); }
  Client MakeClient(const ClientOptions& options) { return *Client::Create(options); }

  absl::Notification release_;
  FakeServer server_;  // after what its handlers use: it waits for them when it ends
  const std::vector<int32_t> numbers_ = {1, 2, 3, 4, 5, 6};
  const TopKRequest request_ = {.scores = Int32Matrix(numbers_.data(), 2, 3), .k = 3};
};

TEST_F(GrpcClientTest, TheResultOwnsWhatTheServerSent) {
  server_.Start();
  const auto result = MakeClient().TopK(request_);
  ASSERT_OK(result);
  EXPECT_THAT(result->indices.row<int32_t>(0), ElementsAre(1, 2, 3));
  EXPECT_THAT(result->indices.row<int32_t>(1), ElementsAre(4, 5, 6));
}

TEST_F(GrpcClientTest, CopiesOfAClientShareItsConnection) {
  server_.Start();
  Client client = MakeClient();
  std::string first_peer;
  server_.indexer().top_k = [&](grpc::ServerContext& context, const auto&, auto&) {
    if (first_peer.empty()) first_peer = context.peer();
    EXPECT_EQ(context.peer(), first_peer);
    return grpc::Status::OK;
  };
  ASSERT_OK(client.TopK(request_));
  const Client copy = client;
  ASSERT_OK(copy.TopK(request_));
}

TEST_F(GrpcClientTest, MessagesOfManyMegabytesPassBothWays) {
  server_.Start();
  winnow::testing::Random random(winnow::testing::SeedFromEnvironment("WINNOW_CLIENT_TEST_SEED"));
  std::vector<int32_t> large(10 << 20);
  for (int32_t& number : large) number = static_cast<int32_t>(random.Next());
  const auto result = MakeClient().TopK({.scores = Int32Matrix(large.data(), 10, 1 << 20), .k = 1});
  ASSERT_OK(result);
  EXPECT_EQ(result->indices.rows(), 10);
  EXPECT_EQ(std::memcmp(result->indices.bytes().data(), large.data(), large.size() * 4), 0);
}

TEST_F(GrpcClientTest, AnErrorKeepsItsReasonFieldValueLimitAndRow) {
  server_.Start();
  server_.indexer().top_k = [](auto&, const auto&, auto&) {
    return ErrorStatus(grpc::StatusCode::INVALID_ARGUMENT,
                       "k is 4096; this server accepts 1 to 2048", v1::ERROR_REASON_K_OUT_OF_RANGE);
  };
  const auto result = MakeClient().TopK(request_);
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kInvalidArgument,
                               "k is 4096; this server accepts 1 to 2048"));
  EXPECT_TRUE(HasReason(result.status(), ErrorReason::kKOutOfRange));
}

TEST_F(GrpcClientTest, AServerThatIsNotThereIsUnavailableAndNamed) {
  ClientOptions options = server_.client_options();
  options.retry = RetryPolicy::Never();
  const auto result = MakeClient(options).TopK(request_);
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("cannot reach the server at " + server_.target())));
  EXPECT_TRUE(IsUnreachable(result.status()));
}

TEST_F(GrpcClientTest, WaitForReadyFindsAServerThatStartsLater) {
  const Client client = MakeClient();
  absl::StatusOr<TopKResult> result;
  std::thread caller([&] { result = client.TopK(request_, {.wait_for_ready = true}); });
  server_.Start();
  caller.join();
  EXPECT_OK(result);
}

TEST_F(GrpcClientTest, WaitingForAServerThatNeverComesSaysSoAndNamesIt) {
  const auto nothing_answered =
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               "no server answered at " + server_.target() + " within the timeout of 100ms");
  const CallOptions waiting = {.timeout = absl::Milliseconds(100), .wait_for_ready = true};
  for (const bool streaming : {false, true}) {
    ClientOptions options = server_.client_options();
    options.streaming = streaming;
    const Client client = MakeClient(options);
    EXPECT_THAT(client.TopK(request_, waiting), nothing_answered);
    EXPECT_THAT(client.AsyncTopK(request_, waiting).Get(), nothing_answered);
    EXPECT_THAT(client.GetServerInfo(waiting), nothing_answered);
    EXPECT_THAT(client.OpenLease({}, waiting), nothing_answered);
  }
}

TEST_F(GrpcClientTest, ARestartedServerIsFoundByRetries) {
  server_.Start();
  const Client client = MakeClient();
  ASSERT_OK(client.TopK(request_));
  server_.Stop();
  ASSERT_THAT(client.TopK(request_, {.retry = RetryPolicy::Never()}), Not(winnow::testing::IsOk()));
  server_.Start();
  const RetryPolicy patient = {.max_attempts = 1000};
  EXPECT_OK(client.TopK(request_, {.retry = patient}));
}

TEST_F(GrpcClientTest, AFullQueueIsTriedAgain) {
  server_.Start();
  std::atomic<int> calls = 0;
  server_.indexer().top_k = [&](grpc::ServerContext& context, const v1::TopKRequest& request,
                                v1::TopKResponse& response) {
    if (++calls < 3) {
      return ErrorStatus(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue holds 4096 requests",
                         v1::ERROR_REASON_QUEUE_FULL, 1);
    }
    return EchoScores(context, request, response);
  };
  EXPECT_OK(MakeClient().TopK(request_));
  EXPECT_EQ(calls, 3);
}

TEST_F(GrpcClientTest, ACallThatTheServerDroppedIsTriedAgain) {
  server_.Start();
  std::atomic<int> calls = 0;
  server_.indexer().top_k = [&](grpc::ServerContext& context, const v1::TopKRequest& request,
                                v1::TopKResponse& response) {
    if (++calls % 2 == 1) return grpc::Status(grpc::StatusCode::CANCELLED, "");
    return EchoScores(context, request, response);
  };
  const Client client = MakeClient();
  EXPECT_OK(client.TopK(request_));
  EXPECT_OK(client.AsyncTopK(request_).Get());
  EXPECT_EQ(calls, 4);
  const auto once = client.TopK(request_, {.retry = RetryPolicy::Never()});
  EXPECT_THAT(once, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("dropped the call")));
}

TEST_F(GrpcClientTest, TheTimeoutReachesTheServerAsItsDeadline) {
  server_.Start();
  absl::Time deadline;
  server_.indexer().top_k = [&](grpc::ServerContext& context, const auto&, auto&) {
    deadline = absl::FromChrono(context.deadline());
    return grpc::Status::OK;
  };
  const absl::Time before = absl::Now();
  ASSERT_OK(MakeClient().TopK(request_, {.timeout = absl::Seconds(40)}));
  EXPECT_GT(deadline, before + absl::Seconds(39));
  EXPECT_LT(deadline, absl::Now() + absl::Seconds(41));
}

TEST_F(GrpcClientTest, ACallThatTakesLongerThanItsTimeoutSaysSo) {
  server_.Start();
  server_.indexer().top_k = [this](auto&, const auto&, auto&) {
    release_.WaitForNotification();
    return grpc::Status::OK;
  };
  const auto result = MakeClient().TopK(request_, {.timeout = absl::Milliseconds(20)});
  release_.Notify();
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("timeout of 20ms")));
}

TEST_F(GrpcClientTest, AStopTokenEndsABlockingCall) {
  server_.Start();
  std::stop_source stop;
  server_.indexer().top_k = [stop](grpc::ServerContext& context, const auto&, auto&) mutable {
    stop.request_stop();
    // The cancellation travels to the server too; without it this would spin to the deadline.
    while (!context.IsCancelled() && context.deadline() > std::chrono::system_clock::now()) {
      std::this_thread::yield();
    }
    EXPECT_LT(std::chrono::system_clock::now(), context.deadline());
    return grpc::Status::CANCELLED;
  };
  const auto result = MakeClient().TopK(request_, {.stop = stop.get_token()});
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kCancelled, "the caller cancelled the call"));
}

TEST_F(GrpcClientTest, MetadataAndUserAgentArrive) {
  server_.Start();
  std::string traceparent;
  std::string user_agent;
  server_.indexer().top_k = [&](grpc::ServerContext& context, const auto&, auto&) {
    for (const auto& [key, value] : context.client_metadata()) {
      if (key == "traceparent") traceparent = std::string(value.data(), value.size());
      if (key == "user-agent") user_agent = std::string(value.data(), value.size());
    }
    return grpc::Status::OK;
  };
  ClientOptions options = server_.client_options();
  options.user_agent = "engine/1.2";
  ASSERT_OK(MakeClient(options).TopK(request_, {.metadata = {{"traceparent", "00-ab-cd-01"}}}));
  EXPECT_EQ(traceparent, "00-ab-cd-01");
  EXPECT_THAT(user_agent, HasSubstr("engine/1.2 "));
}

TEST_F(GrpcClientTest, HealthSpeaksTheStandardProtocol) {
  server_.Start();
  const Client client = MakeClient();
  ASSERT_THAT(client.Health(), winnow::testing::IsOk());
  EXPECT_EQ(*client.Health(), HealthStatus::kServing);
  EXPECT_EQ(*client.Health("no.such.Service"), HealthStatus::kServiceUnknown);
  server_.server().GetHealthCheckService()->SetServingStatus(false);
  EXPECT_EQ(*client.Health(), HealthStatus::kNotServing);
}

TEST_F(GrpcClientTest, AnRpcThatTheServerLacksIsUnimplemented) {
  server_.Start();
  EXPECT_THAT(MakeClient().GetStats(), StatusIs(absl::StatusCode::kUnimplemented, ::testing::_));
}

TEST_F(GrpcClientTest, ManyThreadsShareOneClient) {
  server_.Start();
  const Client client = MakeClient();
  constexpr int kThreads = 16;
  constexpr int kCalls = 50;
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int32_t call = 0; call < kCalls; ++call) {
        const std::vector<int32_t> mine = {thread, call};
        const auto result = client.TopK({.scores = Int32Column(mine), .k = 1});
        if (result.ok() && result->indices.row<int32_t>(0)[0] == thread &&
            result->indices.row<int32_t>(1)[0] == call) {
          ++right;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads * kCalls);
}

TEST_F(GrpcClientTest, TheObserverSeesEveryAttempt) {
  server_.Start();
  std::atomic<int> calls = 0;
  server_.indexer().top_k = [&](auto&, const auto&, auto&) {
    return ++calls == 1 ? ErrorStatus(grpc::StatusCode::UNAVAILABLE, "draining",
                                      v1::ERROR_REASON_SERVER_DRAINING)
                        : grpc::Status::OK;
  };
  std::vector<std::string> seen;
  ClientOptions options = server_.client_options();
  options.observer = [&](const AttemptReport& report) {
    EXPECT_GE(report.elapsed, absl::ZeroDuration());
    seen.push_back(std::string(report.method) + " " +
                   std::string(absl::StatusCodeToString(report.status.code())));
  };
  ASSERT_OK(MakeClient(options).TopK(request_));
  EXPECT_THAT(seen, ElementsAre("/winnow.v1.IndexerService/TopK UNAVAILABLE",
                                "/winnow.v1.IndexerService/TopK OK"));
}

}  // namespace
}  // namespace winnow::client
