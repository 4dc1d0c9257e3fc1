#include "server/resources/lease_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using winnow::testing::FailsWith;
using winnow::testing::IsOk;
using winnow::testing::IsOverQuota;
using winnow::testing::StatusIs;

class LeaseLedgerTest : public ::testing::Test {
 protected:
  LeaseLedgerTest()
      : ledger_(Options(), &clock_, [this](const LeaseEnding& ending, auto finished) {
          ended_.emplace_back(ending.number, std::string(ending.message));
          causes_.push_back(ending.cause);
          finished_.emplace(ending.number, std::move(finished));
        }) {}

  static LeaseLedgerOptions Options() {
    return {.max_leases = 3, .max_lease_inflight = 2, .max_resume_grace = absl::Seconds(60)};
  }

  LeaseGrant Open(absl::Duration grace = absl::ZeroDuration()) {
    const auto grant =
        ledger_.Open({.display_name = "engine", .peer = "unix:", .resume_grace = grace});
    EXPECT_THAT(grant, IsOk());
    return *grant;
  }

  FakeClock clock_;
  std::vector<std::pair<int64_t, std::string>> ended_;
  std::vector<LeaseEndCause> causes_;
  std::map<int64_t, absl::AnyInvocable<void() &&>> finished_;
  LeaseLedger ledger_;
};

TEST_F(LeaseLedgerTest, ALeaseEndsWithItsStream) {
  const LeaseGrant grant = Open();
  EXPECT_EQ(grant.lease_id.size(), 32u);
  ledger_.StreamLost(grant);
  EXPECT_THAT(ended_, ElementsAre(Pair(grant.number, "its stream ended")));
  EXPECT_THAT(ledger_.Use(grant.lease_id), FailsWith(ErrorReason::kLeaseEnded, "lease_id"));
}

TEST_F(LeaseLedgerTest, ALeaseIsListedUntilItsWorkIsDone) {
  const LeaseGrant grant = Open();
  ledger_.StreamLost(grant);
  ASSERT_EQ(ledger_.List().size(), 1u);
  EXPECT_EQ(ledger_.List()[0].state, LeaseState::kEnding);
  std::move(finished_.at(grant.number))();
  EXPECT_TRUE(ledger_.List().empty());
}

TEST_F(LeaseLedgerTest, AGuessedIdIsNotFound) {
  Open();
  EXPECT_THAT(ledger_.Use("00000000000000000000000000000000"),
              FailsWith(ErrorReason::kLeaseNotFound, "lease_id"));
  EXPECT_THAT(ledger_.Use(""), FailsWith(ErrorReason::kLeaseNotFound, "lease_id"));
  EXPECT_THAT(ledger_.Resume("00000000000000000000000000000000", ""),
              FailsWith(ErrorReason::kLeaseNotFound, "resume_lease_id"));
}

TEST_F(LeaseLedgerTest, ALostLeaseCanBeResumedWithinItsGrace) {
  const LeaseGrant grant = Open(absl::Seconds(10));
  ledger_.StreamLost(grant);
  EXPECT_EQ(ledger_.List()[0].state, LeaseState::kWaiting);
  EXPECT_THAT(ledger_.Use(grant.lease_id), IsOk());
  clock_.Advance(absl::Seconds(9));
  EXPECT_EQ(ledger_.ExpireGraces(), clock_.Now() + absl::Seconds(1));
  const auto resumed = ledger_.Resume(grant.lease_id, "unix:");
  ASSERT_THAT(resumed, IsOk());
  EXPECT_TRUE(resumed->resumed);
  EXPECT_EQ(resumed->number, grant.number);
  clock_.Advance(absl::Seconds(100));
  EXPECT_EQ(ledger_.ExpireGraces(), absl::InfiniteFuture());
  EXPECT_TRUE(ended_.empty());
}

TEST_F(LeaseLedgerTest, TheEndOfAnEarlierStreamDoesNotTouchAResumedLease) {
  const LeaseGrant grant = Open(absl::Seconds(10));
  ledger_.StreamLost(grant);
  ASSERT_THAT(ledger_.Resume(grant.lease_id, "unix:"), IsOk());
  ledger_.StreamLost(grant);
  EXPECT_EQ(ledger_.List()[0].state, LeaseState::kOpen);
}

TEST_F(LeaseLedgerTest, PastItsGraceALeaseIsGone) {
  const LeaseGrant grant = Open(absl::Seconds(10));
  ledger_.StreamLost(grant);
  clock_.Advance(absl::Seconds(10));
  const auto has_ended = FailsWith(ErrorReason::kLeaseEnded, "resume_lease_id");
  EXPECT_THAT(ledger_.Resume(grant.lease_id, ""), has_ended);
  EXPECT_EQ(ledger_.ExpireGraces(), absl::InfiniteFuture());
  EXPECT_THAT(ledger_.Resume(grant.lease_id, ""), has_ended);
  EXPECT_THAT(ended_, ElementsAre(Pair(grant.number, "its grace is over")));
}

TEST_F(LeaseLedgerTest, AHeldLeaseCannotBeResumed) {
  const LeaseGrant grant = Open(absl::Seconds(10));
  EXPECT_THAT(ledger_.Resume(grant.lease_id, ""),
              FailsWith(ErrorReason::kResourceBusy, "resume_lease_id"));
}

TEST_F(LeaseLedgerTest, AnOperatorEndsALeaseOnce) {
  const LeaseGrant grant = Open(absl::Seconds(10));
  EXPECT_THAT(ledger_.End(grant.number, "maintenance"), IsOk());
  EXPECT_THAT(ended_, ElementsAre(Pair(grant.number, "maintenance")));
  EXPECT_THAT(ledger_.End(grant.number, ""),
              FailsWith(ErrorReason::kLeaseNotFound, "lease_number"));
  EXPECT_THAT(ledger_.End(99, ""), FailsWith(ErrorReason::kLeaseNotFound, "lease_number"));
  ledger_.StreamLost(grant);
  EXPECT_EQ(ended_.size(), 1u);
}

TEST_F(LeaseLedgerTest, AClosedLeaseEndsWhateverItsGrace) {
  const LeaseGrant held = Open(absl::Seconds(60));
  const LeaseGrant waiting = Open(absl::Seconds(60));
  ledger_.StreamLost(waiting);
  EXPECT_THAT(ledger_.CloseLease(waiting.lease_id), IsOk());
  EXPECT_THAT(ledger_.CloseLease(held.lease_id), IsOk());
  EXPECT_THAT(ended_, ElementsAre(Pair(waiting.number, "it was closed by its id"),
                                  Pair(held.number, "it was closed by its id")));
  EXPECT_THAT(ledger_.Use(held.lease_id), FailsWith(ErrorReason::kLeaseEnded, "lease_id"));
  EXPECT_THAT(ledger_.Resume(waiting.lease_id, ""),
              FailsWith(ErrorReason::kLeaseEnded, "resume_lease_id"));
  EXPECT_EQ(ledger_.ExpireGraces(), absl::InfiniteFuture());
}

TEST_F(LeaseLedgerTest, ALeaseIsClosedOnce) {
  const LeaseGrant grant = Open(absl::Seconds(60));
  EXPECT_THAT(ledger_.CloseLease(grant.lease_id), IsOk());
  EXPECT_THAT(ledger_.CloseLease(grant.lease_id), FailsWith(ErrorReason::kLeaseEnded, "lease_id"));
  ledger_.StreamLost(grant);
  EXPECT_THAT(ledger_.End(grant.number, ""),
              FailsWith(ErrorReason::kLeaseNotFound, "lease_number"));
  EXPECT_EQ(ended_.size(), 1u);
}

TEST_F(LeaseLedgerTest, AGuessedIdClosesNothing) {
  const LeaseGrant grant = Open();
  for (const std::string& guess : {std::string(), std::string(32, '0'), grant.lease_id + "0"}) {
    EXPECT_THAT(ledger_.CloseLease(guess), FailsWith(ErrorReason::kLeaseNotFound, "lease_id"));
  }
  EXPECT_TRUE(ended_.empty());
  EXPECT_TRUE(ledger_.IsHeld(grant));
}

TEST_F(LeaseLedgerTest, WhoeverEndsALeaseIsToldApart) {
  const LeaseGrant lost = Open(), ended = Open(), closed = Open();
  ledger_.StreamLost(lost);
  ASSERT_THAT(ledger_.End(ended.number, ""), IsOk());
  ASSERT_THAT(ledger_.CloseLease(closed.lease_id), IsOk());
  for (auto& [number, finished] : finished_) std::move(finished)();
  Open();
  ledger_.Close("");
  EXPECT_THAT(causes_, ElementsAre(LeaseEndCause::kNotTold, LeaseEndCause::kOperator,
                                   LeaseEndCause::kClosed, LeaseEndCause::kDrain));
}

TEST_F(LeaseLedgerTest, OnlyTheLatestStreamHoldsALease) {
  const LeaseGrant first = Open(absl::Seconds(60));
  EXPECT_TRUE(ledger_.IsHeld(first));
  ledger_.StreamLost(first);
  EXPECT_FALSE(ledger_.IsHeld(first));
  const auto second = ledger_.Resume(first.lease_id, "");
  ASSERT_THAT(second, IsOk());
  EXPECT_FALSE(ledger_.IsHeld(first));
  EXPECT_TRUE(ledger_.IsHeld(*second));
  ASSERT_THAT(ledger_.CloseLease(first.lease_id), IsOk());
  EXPECT_FALSE(ledger_.IsHeld(*second));
}

TEST_F(LeaseLedgerTest, TheServerHasABoundOfLeases) {
  Open();
  Open();
  Open();
  const auto refused = ledger_.Open({});
  EXPECT_THAT(refused,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("3 leases of at most 3")));
  EXPECT_THAT(refused, IsOverQuota("3, the leases of the server"));
}

TEST_F(LeaseLedgerTest, OptionsOutsideTheirRangeAreRefused) {
  EXPECT_THAT(ledger_.Open({.display_name = std::string(129, 'x')}),
              FailsWith(ErrorReason::kValueOutOfRange, "display_name"));
  EXPECT_THAT(ledger_.Open({.display_name = "a\nb"}),
              FailsWith(ErrorReason::kValueOutOfRange, "display_name"));
  EXPECT_THAT(ledger_.Open({.weight = 0}), FailsWith(ErrorReason::kValueOutOfRange, "weight"));
  EXPECT_THAT(ledger_.Open({.weight = 101}), FailsWith(ErrorReason::kValueOutOfRange, "weight"));
  EXPECT_THAT(ledger_.Open({.resume_grace = absl::Seconds(61)}),
              FailsWith(ErrorReason::kValueOutOfRange, "resume_grace_duration"));
  EXPECT_THAT(ledger_.Open({.resume_grace = absl::Seconds(-1)}),
              FailsWith(ErrorReason::kValueOutOfRange, "resume_grace_duration"));
}

TEST_F(LeaseLedgerTest, RequestsInFlightAreBounded) {
  const LeaseGrant grant = Open();
  auto first = ledger_.Use(grant.lease_id);
  const auto second = ledger_.Use(grant.lease_id);
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(ledger_.Use(grant.lease_id), IsOverQuota("2, the requests in flight of the lease"));
  first->inflight.Reset();
  EXPECT_THAT(ledger_.Use(grant.lease_id), IsOk());
}

TEST_F(LeaseLedgerTest, CloseEndsEveryLeaseAndRefusesNewOnes) {
  const LeaseGrant open = Open();
  const LeaseGrant waiting = Open(absl::Seconds(10));
  ledger_.StreamLost(waiting);
  ledger_.Close("the server is draining");
  EXPECT_THAT(ended_, ElementsAre(Pair(open.number, "the server is draining"),
                                  Pair(waiting.number, "the server is draining")));
  EXPECT_THAT(ledger_.Open({}), FailsWith(ErrorReason::kServerDraining, ""));
}

}  // namespace
}  // namespace winnow::server
