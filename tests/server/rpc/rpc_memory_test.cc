// Calls that make resources, on a backend that takes its time.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "server/resources/lease_ledger.h"
#include "tests/server/rpc/rpc_server_fixture.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "winnow/v1/memory_service.grpc.pb.h"

namespace winnow::server {
namespace {

// A call asks it for the time when it arrives.
class AskedClock final : public Clock {
 public:
  absl::Time Now() const override {
    ++asked;
    return clock.Now();
  }
  void WaitUntil(absl::Mutex& mutex, absl::CondVar& changed, absl::Time deadline) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    clock.WaitUntil(mutex, changed, deadline);
  }
  FakeClock clock;
  mutable std::atomic<int> asked{0};
};

class RpcMemoryTest : public RpcServerTest {
 protected:
  void SetUp() override {
    environment_.ledger = &ledger_;
    RpcServerTest::SetUp();
    environment_.clock = &clock_;
    memory_ = v1::MemoryService::NewStub(Connect(socket_));
    const auto lease = ledger_.Open({}, {});
    ASSERT_OK(lease);
    lease_id_ = lease->lease_id;
  }

  grpc::Status Allocate(absl::Duration timeout) {
    const auto context = Context();
    context->set_deadline(absl::ToChronoTime(absl::Now() + timeout));
    v1::AllocateBufferRequest request;
    request.set_lease_id(lease_id_);
    request.set_size_bytes(64);
    v1::AllocateBufferResponse response;
    return memory_->AllocateBuffer(context.get(), request, &response);
  }

  AskedClock clock_;
  LeaseLedger ledger_{
      LeaseLedgerOptions(), &clock_,
      [](const LeaseEnding&, absl::AnyInvocable<void() &&> finished) { std::move(finished)(); }};
  std::unique_ptr<v1::MemoryService::Stub> memory_;
  std::string lease_id_;
};

TEST_F(RpcMemoryTest, WhatNobodyWaitsForIsNotMade) {
  backend_.HoldAllocations(true);
  std::thread slow([this] { Allocate(absl::Seconds(30)); });
  backend_.AwaitAllocations(1);
  // Waits behind the slow one until its time is over.
  const int asked = clock_.asked;
  std::thread late([this] {
    EXPECT_EQ(Allocate(absl::Seconds(1)).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  });
  while (clock_.asked == asked) std::this_thread::yield();
  clock_.clock.Advance(absl::Seconds(2));
  late.join();
  backend_.HoldAllocations(false);
  slow.join();
  EXPECT_EQ(Allocate(absl::Seconds(30)).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(backend_.allocations(), 2);
}

}  // namespace
}  // namespace winnow::server
