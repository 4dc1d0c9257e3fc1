// How the server ends: what it waits for and what it refuses meanwhile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/time/clock.h"
#include "tests/server/rpc/rpc_server_fixture.h"

namespace winnow::server {
namespace {

TEST_F(RpcServerTest, QuietBeginsAMomentAfterTheLastReply) {
  auto call = StartTopK();
  auto task = scheduler_.AwaitTask();
  absl::Time quiet;
  std::thread waits([&] {
    server_->AwaitQuiet(absl::Seconds(30), absl::Seconds(30));
    quiet = absl::Now();
  });
  const absl::Time before_reply = absl::Now();
  HoldingScheduler::FinishOk(std::move(task));
  waits.join();
  call->thread.join();
  EXPECT_TRUE(call->status.ok());
  EXPECT_GE(quiet - before_reply, kBusyQuietTime);
  EXPECT_LT(quiet - before_reply, absl::Seconds(20)) << "waited for the deadline";
}

TEST_F(RpcServerTest, AServerThatNobodyCallsIsQuietSooner) {
  v1::GetServerInfoResponse response;
  ASSERT_TRUE(admin_->GetServerInfo(Context().get(), {}, &response).ok());
  server_->SetServing(false);
  const absl::Time begin = absl::Now();
  server_->AwaitQuiet(absl::Seconds(30), absl::Seconds(30));
  EXPECT_GE(absl::Now() - begin, kQuietTime);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20)) << "waited for the limit";
}

TEST_F(RpcServerTest, AReplyThatDoesNotComeHoldsUpTheEndOnlyForThePatience) {
  auto call = StartTopK();
  auto task = scheduler_.AwaitTask();
  const absl::Time begin = absl::Now();
  server_->AwaitQuiet(2 * kBusyQuietTime, absl::Seconds(60));
  EXPECT_GE(absl::Now() - begin, 2 * kBusyQuietTime);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(40)) << "waited for the limit";
  HoldingScheduler::FinishOk(std::move(task));
  call->thread.join();
}

TEST_F(RpcServerTest, RepliesThatKeepLeavingAreWaitedForBeyondThePatienceUpToTheLimit) {
  auto held = StartTopK();
  auto task = scheduler_.AwaitTask();
  std::atomic<bool> ended = false;
  std::thread caller([&] {
    v1::GetServerInfoResponse response;
    while (!ended) EXPECT_TRUE(admin_->GetServerInfo(Context().get(), {}, &response).ok());
  });
  // The patience is longer than a busy machine keeps the caller from its turn.
  const absl::Time begin = absl::Now();
  server_->AwaitQuiet(8 * kBusyQuietTime, 12 * kBusyQuietTime);
  EXPECT_GE(absl::Now() - begin, 12 * kBusyQuietTime);
  ended = true;
  caller.join();
  HoldingScheduler::FinishOk(std::move(task));
  held->thread.join();
}

TEST_F(RpcServerTest, PlansAreRefusedWhileDraining) {
  environment_.state = ServingState::kDraining;
  v1::PlanTopKResponse response;
  const grpc::Status status = indexer_->PlanTopK(Context().get(), testing::GoodPlan(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_SERVER_DRAINING);
  environment_.state = ServingState::kServing;
}

}  // namespace
}  // namespace winnow::server
