#include "winnow/client/future.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "tests/testing/status_matchers.h"

namespace winnow::client {
namespace {

using ::winnow::testing::StatusIs;

TEST(FutureTest, ADefaultFutureIsNotValid) { EXPECT_FALSE(Future<int>().valid()); }

TEST(FutureTest, GetTakesTheResultAndUsesTheFutureUp) {
  Promise<std::string> promise;
  Future<std::string> future = promise.future();
  EXPECT_FALSE(future.ready());
  promise.Set("done");
  EXPECT_TRUE(future.ready());
  EXPECT_EQ(*std::move(future).Get(), "done");
  EXPECT_FALSE(future.valid());
}

TEST(FutureTest, GetWaitsForAnotherThread) {
  Promise<int> promise;
  Future<int> future = promise.future();
  std::thread setter([promise = std::move(promise)]() mutable { promise.Set(7); });
  EXPECT_EQ(*std::move(future).Get(), 7);
  setter.join();
}

TEST(FutureTest, ResultsNeedNotBeCopyable) {
  Promise<std::unique_ptr<int>> promise;
  Future<std::unique_ptr<int>> future = promise.future();
  promise.Set(std::make_unique<int>(3));
  EXPECT_EQ(**std::move(future).Get(), 3);
}

TEST(FutureTest, AWaitEndsWithItsDeadline) {
  Promise<int> promise;
  Future<int> future = promise.future();
  EXPECT_FALSE(future.WaitFor(absl::Milliseconds(1)));
  EXPECT_FALSE(future.WaitUntil(absl::InfinitePast()));
  promise.Set(1);
  EXPECT_TRUE(future.WaitUntil(absl::InfinitePast()));
}

TEST(FutureTest, ThenRunsAtOnceWhenTheResultIsThere) {
  int seen = 0;
  ReadyFuture<int>(5).Then([&](absl::StatusOr<int> result) { seen = *result; });
  EXPECT_EQ(seen, 5);
}

TEST(FutureTest, ThenRunsWhereThePromiseIsSet) {
  Promise<int> promise;
  std::thread::id ran_on;
  promise.future().Then([&](const absl::StatusOr<int>&) { ran_on = std::this_thread::get_id(); });
  std::thread setter([&] { promise.Set(1); });
  const std::thread::id setter_id = setter.get_id();
  setter.join();
  EXPECT_EQ(ran_on, setter_id);
}

TEST(FutureTest, AnAbandonedPromiseIsCancelled) {
  Future<int> future = Promise<int>().future();
  EXPECT_THAT(std::move(future).Get(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST(FutureTest, ADroppedFutureLetsThePromiseGoOn) {
  Promise<int> promise;
  { const Future<int> dropped = promise.future(); }
  EXPECT_FALSE(promise.stop_source().stop_requested());
  promise.Set(1);
}

TEST(FutureTest, CancelStopsThePromise) {
  Promise<int> promise;
  Future<int> future = promise.future();
  future.Cancel();
  EXPECT_TRUE(promise.stop_source().stop_requested());
  EXPECT_FALSE(future.ready());
  promise.Set(absl::CancelledError(""));
  EXPECT_TRUE(future.ready());
}

TEST(FutureTest, ThenAndSetMayRace) {
  std::atomic<int> ran = 0;
  constexpr int kRounds = 2000;
  for (int i = 0; i < kRounds; ++i) {
    Promise<int> promise;
    Future<int> future = promise.future();
    std::thread setter([promise = std::move(promise), i]() mutable { promise.Set(i); });
    std::move(future).Then([&, i](absl::StatusOr<int> result) { ran += *result == i ? 1 : 0; });
    setter.join();
  }
  EXPECT_EQ(ran, kRounds);
}

}  // namespace
}  // namespace winnow::client
