// Future-returning calls over a real socket.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "tests/client/fake_server.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"

namespace winnow::client {
namespace {

using ::testing::ElementsAre;
using ::winnow::testing::StatusIs;

class GrpcClientAsyncTest : public ::testing::Test {
 protected:
  GrpcClientAsyncTest() { server_.Start(); }

  // A handler that waits until the call is cancelled.
  void HangUntilCancelled() {
    server_.indexer().top_k = [this](grpc::ServerContext& context, const auto&, auto&) {
      arrived_.Notify();
      while (!context.IsCancelled() && context.deadline() > std::chrono::system_clock::now()) {
        std::this_thread::yield();
      }
      EXPECT_LT(std::chrono::system_clock::now(), context.deadline());
      return grpc::Status::CANCELLED;
    };
  }

  absl::Notification arrived_;
  FakeServer server_;  // after what its handlers use: it waits for them when it ends
  const std::vector<int32_t> numbers_ = {1, 2, 3};
  const TopKRequest request_ = {.scores = Int32Column(numbers_), .k = 1};
};

TEST_F(GrpcClientAsyncTest, AFutureGivesTheResult) {
  const Client client = *Client::Create(server_.client_options());
  Future<TopKResult> future = client.AsyncTopK(request_);
  const auto result = std::move(future).Get();
  ASSERT_OK(result);
  EXPECT_THAT(result->indices.elements<int32_t>(), ElementsAre(1, 2, 3));
  EXPECT_FALSE(future.valid());
}

TEST_F(GrpcClientAsyncTest, TheRequestsMemoryMayChangeOnceTheCallIsMade) {
  const Client client = *Client::Create(server_.client_options());
  std::vector<int32_t> mine = {7, 8};
  Future<TopKResult> future = client.AsyncTopK({.scores = Int32Column(mine), .k = 1});
  mine.assign({0, 0});
  const auto result = std::move(future).Get();
  ASSERT_OK(result);
  EXPECT_THAT(result->indices.elements<int32_t>(), ElementsAre(7, 8));
}

TEST_F(GrpcClientAsyncTest, ManyCallsOfOneThreadRunAtOnce) {
  const Client client = *Client::Create(server_.client_options());
  constexpr int kCalls = 500;
  absl::BlockingCounter open(kCalls);
  std::atomic<int> right = 0;
  for (int32_t i = 0; i < kCalls; ++i) {
    const std::vector<int32_t> mine = {i};
    client.AsyncTopK({.scores = Int32Column(mine), .k = 1})
        .Then([&, i](absl::StatusOr<TopKResult> result) {
          if (result.ok() && result->indices.elements<int32_t>()[0] == i) ++right;
          open.DecrementCount();
        });
  }
  open.Wait();
  EXPECT_EQ(right, kCalls);
}

TEST_F(GrpcClientAsyncTest, CancelEndsTheCallHereAndAtTheServer) {
  HangUntilCancelled();
  const Client client = *Client::Create(server_.client_options());
  Future<TopKResult> future = client.AsyncTopK(request_);
  arrived_.WaitForNotification();
  EXPECT_FALSE(future.ready());
  future.Cancel();
  EXPECT_THAT(std::move(future).Get(),
              StatusIs(absl::StatusCode::kCancelled, "the caller cancelled the call"));
}

TEST_F(GrpcClientAsyncTest, AStopTokenEndsTheCallToo) {
  HangUntilCancelled();
  const Client client = *Client::Create(server_.client_options());
  std::stop_source stop;
  Future<TopKResult> future = client.AsyncTopK(request_, {.stop = stop.get_token()});
  arrived_.WaitForNotification();
  stop.request_stop();
  EXPECT_THAT(std::move(future).Get(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(GrpcClientAsyncTest, CancelWhileWaitingToRepeatEndsTheWait) {
  server_.indexer().top_k = [this](auto&, const auto&, auto&) {
    arrived_.Notify();
    // The suggestion is longer than the test may take.
    return ErrorStatus(grpc::StatusCode::UNAVAILABLE, "draining", v1::ERROR_REASON_SERVER_DRAINING,
                       50'000);
  };
  const Client client = *Client::Create(server_.client_options());
  Future<TopKResult> future = client.AsyncTopK(request_);
  arrived_.WaitForNotification();
  future.Cancel();
  EXPECT_THAT(std::move(future).Get(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(GrpcClientAsyncTest, AsyncCallsAreRepeatedToo) {
  std::atomic<int> calls = 0;
  server_.indexer().top_k = [&](grpc::ServerContext& context, const v1::TopKRequest& request,
                                v1::TopKResponse& response) {
    if (++calls < 4) {
      return ErrorStatus(grpc::StatusCode::RESOURCE_EXHAUSTED, "full", v1::ERROR_REASON_QUEUE_FULL);
    }
    return EchoScores(context, request, response);
  };
  const Client client = *Client::Create(server_.client_options());
  EXPECT_OK(client.AsyncTopK(request_).Get());
  EXPECT_EQ(calls, 4);
}

TEST_F(GrpcClientAsyncTest, TheTimeoutBoundsAnAsyncCall) {
  const Client client = *Client::Create(server_.client_options());
  server_.indexer().top_k = [](grpc::ServerContext& context, const auto&, auto&) {
    while (!context.IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  };
  const auto result = client.AsyncTopK(request_, {.timeout = absl::Milliseconds(20)}).Get();
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kDeadlineExceeded, ::testing::_));
}

TEST_F(GrpcClientAsyncTest, TheEndOfTheLastClientCancelsWhatIsUnderWay) {
  HangUntilCancelled();
  std::optional<Client> client = *Client::Create(server_.client_options());
  Future<TopKResult> future = client->AsyncTopK(request_);
  arrived_.WaitForNotification();
  client.reset();
  EXPECT_TRUE(future.ready());
  EXPECT_THAT(std::move(future).Get(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(GrpcClientAsyncTest, ACallbackMayDropTheLastClientWhileOtherCallsRun) {
  std::atomic<int> calls = 0;
  server_.indexer().top_k = [&calls](grpc::ServerContext& context, const auto&, auto&) {
    if (++calls > 3) return grpc::Status::OK;
    while (!context.IsCancelled() && context.deadline() > std::chrono::system_clock::now()) {
      std::this_thread::yield();
    }
    return grpc::Status::CANCELLED;
  };
  auto client = std::make_unique<Client>(*Client::Create(server_.client_options()));
  absl::BlockingCounter open(4);
  std::atomic<int> cancelled = 0;
  for (int i = 0; i < 3; ++i) {
    client->AsyncTopK(request_).Then([&](const absl::StatusOr<TopKResult>& result) {
      if (absl::IsCancelled(result.status())) ++cancelled;
      open.DecrementCount();
    });
  }
  while (calls < 3) std::this_thread::yield();
  Future<TopKResult> last = client->AsyncTopK(request_);
  std::move(last).Then([&, owned = std::move(client)](const absl::StatusOr<TopKResult>&) mutable {
    owned.reset();
    open.DecrementCount();
  });
  open.Wait();
  EXPECT_EQ(cancelled, 3);
}

TEST_F(GrpcClientAsyncTest, ACallbackMayStartTheNextCall) {
  const Client client = *Client::Create(server_.client_options());
  absl::Notification done;
  client.AsyncTopK(request_).Then([&](const absl::StatusOr<TopKResult>& first) {
    ASSERT_OK(first);
    client.AsyncTopK({.scores = first->indices, .k = 1})
        .Then([&](const absl::StatusOr<TopKResult>& second) {
          EXPECT_OK(second);
          EXPECT_THAT(second->indices.elements<int32_t>(), ElementsAre(1, 2, 3));
          done.Notify();
        });
  });
  done.WaitForNotification();
}

TEST_F(GrpcClientAsyncTest, RacingCancelsAndCompletionsAlwaysGiveOneResult) {
  const Client client = *Client::Create(server_.client_options());
  for (int i = 0; i < 200; ++i) {
    Future<TopKResult> future = client.AsyncTopK(request_);
    std::thread canceller([&future] { future.Cancel(); });
    future.WaitFor(absl::Seconds(60));
    canceller.join();
    const auto result = std::move(future).Get();
    EXPECT_TRUE(result.ok() || absl::IsCancelled(result.status())) << result.status();
  }
}

}  // namespace
}  // namespace winnow::client
