// Operations of a lease between their attempts: what is let through, named and repeated.

#include "client/src/lease_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "client/src/call.h"
#include "client/src/request_encoding.h"
#include "tests/client/fakes.h"
#include "tests/testing/status_matchers.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::client {
namespace {

using ::testing::SizeIs;
using ::winnow::testing::FailsWith;

absl::Status NotFound() {
  return MakeError(absl::StatusCode::kNotFound, "no such lease",
                   {.reason = ErrorReason::kLeaseNotFound});
}

class LeaseGateTest : public ::testing::Test {
 protected:
  LeaseGateTest() {
    core_->Opened({.lease_id = "first"}, /*other_server=*/true);
    auto record = std::make_shared<ResourceRecord>(AllocatedSource{.size_bytes = 4096});
    record->id = {.id = 7, .generation = 1};
    buffer_ = core_->Add(std::move(record));
  }

  // What the keeper does when the server was killed and another started.
  void Restart() {
    ASSERT_TRUE(core_->BeginRecovery(absl::UnavailableError("socket closed")));
    core_->With(buffer_, [](ResourceRecord& record) { record.id = {.id = 8, .generation = 2}; });
    core_->Opened({.lease_id = "second"}, /*other_server=*/true);
  }
  // The stream broke and came back to the same server.
  void Resume() {
    ASSERT_TRUE(core_->BeginRecovery(absl::UnavailableError("socket closed")));
    core_->Opened({.lease_id = "first", .resumed = true}, /*other_server=*/false);
  }

  absl::Status Run(const TopKRequest& request, absl::Duration timeout = absl::Seconds(60)) {
    v1::TopKRequest message;
    ResourceBindings bindings;
    EXPECT_OK(Encode(request, message, &bindings));
    CallSettings settings{.method = "m", .timeout = timeout};
    settings.gate = std::make_shared<LeaseGate>(core_, &clock_, std::move(bindings),
                                                message.mutable_lease_id());
    v1::TopKResponse response;
    return RunCall({&stub_, &clock_, [] { return 1.0; }, "unix:/t"}, settings, {}, message,
                   response);
  }
  v1::TopKRequest Asked(size_t attempt) const {
    v1::TopKRequest message;
    message.ParseFromString(stub_.asked[attempt].request);
    return message;
  }
  TopKRequest Reads() const {
    return {.scores = BufferMatrix{buffer_, DType::kFloat32, 1, 8}, .k = 2};
  }
  TopKRequest Writes() const {
    TopKRequest request = Reads();
    request.indices = BufferOutput{buffer_, 64};
    return request;
  }

  const std::shared_ptr<LeaseCore> core_ = std::make_shared<LeaseCore>();
  FakeStub stub_;
  FakeClock clock_;
  ResourceRef buffer_;
};

TEST_F(LeaseGateTest, TheRequestNamesLeaseAndResourcesAsTheServerDoes) {
  EXPECT_OK(Run(Writes()));
  EXPECT_EQ(Asked(0).lease_id(), "first");
  EXPECT_EQ(Asked(0).step().scores().buffer().buffer().id(), 7);
  EXPECT_EQ(Asked(0).step().indices().buffer().buffer().id(), 7);
  EXPECT_EQ(Asked(0).step().indices().buffer().offset_bytes(), 64);
}

TEST_F(LeaseGateTest, ALeaseThatTheServerForgotIsWaitedForAndNamedAnew) {
  stub_.script = {NotFound()};
  clock_.before_wait = [this] { Restart(); };
  EXPECT_OK(Run(Writes()));
  ASSERT_THAT(stub_.asked, SizeIs(2));
  EXPECT_EQ(Asked(1).lease_id(), "second");
  EXPECT_EQ(Asked(1).step().scores().buffer().buffer().id(), 8);
  EXPECT_EQ(Asked(1).step().indices().buffer().buffer().generation(), 2);
}

TEST_F(LeaseGateTest, ACallThatOnlyReadsIsRepeatedWhenItsReplyIsLost) {
  stub_.script = {absl::UnavailableError("socket closed")};
  stub_.during_call = [this] {
    if (stub_.asked.size() == 1) Resume();
  };
  EXPECT_OK(Run(Reads()));
  EXPECT_THAT(stub_.asked, SizeIs(2));
}

TEST_F(LeaseGateTest, ACallThatWritesIsNotRepeatedWhileItsServerMayStillRunIt) {
  stub_.script = {absl::UnavailableError("socket closed")};
  stub_.during_call = [this] {
    if (stub_.asked.size() == 1) Resume();
  };
  const absl::Status status = Run(Writes());
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(stub_.asked, SizeIs(1));
}

TEST_F(LeaseGateTest, ACallThatWritesIsRepeatedOnAnotherServer) {
  stub_.script = {absl::UnavailableError("socket closed")};
  clock_.before_wait = [this] {
    if (clock_.waits.size() == 3) Restart();
  };
  EXPECT_OK(Run(Writes()));
  EXPECT_THAT(stub_.asked, SizeIs(2));
  EXPECT_EQ(Asked(1).lease_id(), "second");
}

TEST_F(LeaseGateTest, ACallThatWritesFailsSoonWhenOnlyItsReplyWasLost) {
  stub_.script = {absl::UnavailableError("socket closed")};
  EXPECT_TRUE(absl::IsUnavailable(Run(Writes())));
  EXPECT_THAT(stub_.asked, SizeIs(1));
  absl::Duration waited;
  for (const absl::Duration wait : clock_.waits) waited += wait;
  EXPECT_LT(waited, absl::Seconds(1));
}

TEST_F(LeaseGateTest, WhatTheServerRefusedIsRepeatedAlsoWhenItWrites) {
  stub_.script = {QueueFull(), QueueFull()};
  EXPECT_OK(Run(Writes()));
  EXPECT_THAT(stub_.asked, SizeIs(3));
}

TEST_F(LeaseGateTest, ATimeoutSaysWhatWasWaitedFor) {
  ASSERT_TRUE(core_->BeginRecovery(absl::UnavailableError("socket closed")));
  const absl::Status status = Run(Reads(), absl::Milliseconds(100));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status));
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("the lease waits for its server: socket closed"));
  EXPECT_THAT(stub_.asked, SizeIs(0));
}

TEST_F(LeaseGateTest, AnEndedLeaseFailsTheCall) {
  stub_.script = {NotFound()};
  clock_.before_wait = [this] { core_->Close(); };
  EXPECT_THAT(Run(Reads()), FailsWith(ErrorReason::kLeaseEnded, ""));
}

TEST_F(LeaseGateTest, WithoutALeaseResourcesAreRefused) {
  v1::TopKRequest message;
  EXPECT_THAT(Encode(Reads(), message), FailsWith(ErrorReason::kFieldMissing, "lease_id"));
}

}  // namespace
}  // namespace winnow::client
