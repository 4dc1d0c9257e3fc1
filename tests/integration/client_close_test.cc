// Leases whose server drains, hangs or is gone: they find the next one, or end soon, and leave
// nothing behind. client_recovery_test.cc has servers that are killed under clients which go on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "tests/integration/restartable_server.h"
#include "tests/integration/small_row.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/client/lease.h"

namespace winnow::client {
namespace {

using ::testing::ElementsAre;
using ::winnow::testing::FailsWith;
using ::winnow::testing::LeaseEventLog;
using ::winnow::testing::RestartableServer;
using ::winnow::testing::SmallRow;

// The parameter: over the stream or not.
class ClientCloseTest : public ::testing::TestWithParam<bool>, protected SmallRow {
 protected:
  RestartableServer server_;
};

TEST_P(ClientCloseTest, AServerThatDrainsIsFollowedByTheNext) {
  for (const absl::Duration grace : {absl::ZeroDuration(), absl::Seconds(50)}) {
    LeaseEventLog events;
    const auto lease = server_.Connect(GetParam())
                           .OpenLease({.resume_grace = grace, .on_event = events.Listener()});
    ASSERT_OK(lease);
    const auto memory = lease->ShareMemory(4096);
    ASSERT_OK(memory);
    std::copy(scores_.begin(), scores_.end(), memory->elements<float>().begin());
    server_.Drain();
    server_.Start();
    const auto result = lease->client().TopK(BestTwo(memory->AsMatrix(DType::kFloat32, 1, 4)));
    ASSERT_OK(result);
    EXPECT_THAT(result->indices.row<int32_t>(0), ElementsAre(1, 2));
    EXPECT_TRUE(events.Await(LeaseEventKind::kRestored).has_value());
  }
}

TEST_P(ClientCloseTest, ATryThatFailsLeavesNothingBehindOnTheServer) {
  LeaseEventLog events;
  const Client client = server_.Connect(GetParam());
  const auto lease =
      client.OpenLease({.resume_grace = absl::Seconds(50), .on_event = events.Listener()});
  ASSERT_OK(lease);
  const auto first = lease->AllocateBuffer(3 << 20), second = lease->AllocateBuffer(3 << 20);
  ASSERT_OK(first);
  ASSERT_OK(second);
  server_.Kill();
  // Has room for one of them. What an earlier try made would take it until its grace is over.
  server_.Start({"--buffer-pool-bytes=4M"});
  const auto event = events.Await(LeaseEventKind::kRestored);
  ASSERT_TRUE(event.has_value());
  EXPECT_THAT(event->failed, ElementsAre(second->ref()));
  const auto leases = client.ListLeases();
  ASSERT_OK(leases);
  EXPECT_EQ(leases->size(), 1u);
}

TEST_P(ClientCloseTest, CloseSaysThatItsServerIsAway) {
  const auto lease = server_.Connect(GetParam()).OpenLease({.resume_grace = absl::Seconds(5)});
  ASSERT_OK(lease);
  server_.Kill();
  const absl::Time begin = absl::Now();
  const absl::Status status = lease->Close({.timeout = absl::Seconds(3)});
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) << status;
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  EXPECT_THAT(lease->status(), FailsWith(ErrorReason::kLeaseEnded, ""));
}

TEST_P(ClientCloseTest, ALeaseEndsSoonWhileItsServerHangs) {
  auto lease = server_.Connect(GetParam()).OpenLease({.resume_grace = absl::Seconds(5)});
  ASSERT_OK(lease);
  server_.Hang();
  const absl::Time begin = absl::Now();
  { const Lease ending = *std::move(lease); }
  EXPECT_GT(absl::Now() - begin, absl::Seconds(1)) << "it tried";
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  server_.GoOn();
}

TEST_P(ClientCloseTest, ALeaseEndsWhileItsServerIsAway) {
  auto lease = server_.Connect(GetParam()).OpenLease({.resume_grace = absl::Seconds(5)});
  ASSERT_OK(lease);
  auto buffer = lease->AllocateBuffer(4096);
  ASSERT_OK(buffer);
  Future<TopKResult> waiting;
  {
    const Lease ending = *std::move(lease);
    server_.Kill();
    waiting = ending.client().AsyncTopK(BestTwo(Float32Matrix(scores_.data(), 1, 4)));
    EXPECT_FALSE(waiting.WaitFor(absl::Milliseconds(20)));
  }
  EXPECT_TRUE(HasReason(std::move(waiting).Get().status(), ErrorReason::kLeaseEnded));
}

INSTANTIATE_TEST_SUITE_P(Transports, ClientCloseTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Stream" : "Unary"; });

}  // namespace
}  // namespace winnow::client
