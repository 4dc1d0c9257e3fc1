#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/resources/lease_ledger.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;
using winnow::testing::IsOk;
using winnow::testing::IsOverQuota;

class FakeResource final : public Resource {
 public:
  FakeResource(ResourceKind kind, int64_t bytes) : kind_(kind), bytes_(bytes) {}
  ResourceKind kind() const override { return kind_; }
  int64_t size_bytes() const override { return bytes_; }

 private:
  const ResourceKind kind_;
  const int64_t bytes_;
};

class LeaseResourcesTest : public ::testing::Test {
 protected:
  LeaseResourcesTest()
      : ledger_({.max_lease_bytes = 1000,
                 .max_lease_resources = 3,
                 .devices = {{.number = 7, .max_bytes = 1500}}},
                &clock_, [](const LeaseEnding&, auto finished) { std::move(finished)(); }),
        lease_(*ledger_.Open({})),
        other_(*ledger_.Open({})) {}

  absl::StatusOr<ResourceId> Add(const LeaseGrant& lease, int64_t bytes,
                                 ResourceKind kind = ResourceKind::kBuffer) {
    auto holds = ledger_.Reserve(lease.lease_id, bytes);
    if (!holds.ok()) return holds.status();
    return ledger_.Add(lease.lease_id, std::make_shared<FakeResource>(kind, bytes),
                       *std::move(holds));
  }
  absl::Status Find(const LeaseGrant& lease, ResourceId id,
                    ResourceKind kind = ResourceKind::kBuffer) {
    return ledger_.Find(lease.lease_id, id, kind, "buffer").status();
  }

  FakeClock clock_;
  LeaseLedger ledger_;
  LeaseGrant lease_, other_;
};

TEST_F(LeaseResourcesTest, AResourceIsFoundByItsLeaseOnly) {
  const auto id = Add(lease_, 10);
  ASSERT_THAT(id, IsOk());
  EXPECT_THAT(Find(lease_, *id), IsOk());
  EXPECT_THAT(Find(other_, *id), FailsWith(ErrorReason::kResourceForeign, "buffer"));
}

TEST_F(LeaseResourcesTest, GuessedIdsAreNotFound) {
  const auto id = Add(lease_, 10);
  ASSERT_THAT(id, IsOk());
  const ResourceId guesses[] = {{0, id->generation}, {-1, id->generation},
                                {2, id->generation}, {INT64_MAX, id->generation},
                                {INT64_MIN, 1},      {id->id, id->generation + 1},
                                {id->id, 0},         {id->id, -1},
                                {id->id, INT64_MAX}};
  for (const ResourceId& guess : guesses) {
    EXPECT_THAT(Find(lease_, guess), FailsWith(ErrorReason::kResourceNotFound, "buffer"))
        << guess.id << " " << guess.generation;
  }
}

TEST_F(LeaseResourcesTest, AReleasedIdIsStaleAlsoWhenItsSlotIsTakenAgain) {
  const auto id = Add(lease_, 10);
  EXPECT_THAT(ledger_.Release(lease_.lease_id, *id, ResourceKind::kBuffer, "buffer"), IsOk());
  EXPECT_THAT(Find(lease_, *id), FailsWith(ErrorReason::kResourceStale, "buffer"));
  EXPECT_THAT(ledger_.Release(lease_.lease_id, *id, ResourceKind::kBuffer, "buffer"),
              FailsWith(ErrorReason::kResourceStale, "buffer"));
  const auto next = Add(lease_, 10);
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ(next->id, id->id);
  EXPECT_THAT(Find(lease_, *id), FailsWith(ErrorReason::kResourceStale, "buffer"));
  EXPECT_THAT(Find(lease_, *next), IsOk());
}

TEST_F(LeaseResourcesTest, AnotherKindIsAConflict) {
  const auto plan = Add(lease_, 10, ResourceKind::kPlan);
  EXPECT_THAT(Find(lease_, *plan), FailsWith(ErrorReason::kFieldsConflict, "buffer"));
  const auto imported = Add(lease_, 10, ResourceKind::kImportedBuffer);
  EXPECT_THAT(Find(lease_, *imported), IsOk());
}

TEST_F(LeaseResourcesTest, QuotasBindByLeaseAndByServer) {
  EXPECT_THAT(Add(lease_, 1001), IsOverQuota("1000, the bytes of the lease"));
  EXPECT_THAT(Add(lease_, 900), IsOk());
  EXPECT_THAT(Add(other_, 601), IsOverQuota("1500, the bytes of device 7"));
  EXPECT_EQ(ledger_.used_bytes(), 900);
  EXPECT_THAT(Add(lease_, 1), IsOk());
  EXPECT_THAT(Add(lease_, 1), IsOk());
  EXPECT_THAT(Add(lease_, 1), IsOverQuota("3, the resources of the lease"));
}

TEST_F(LeaseResourcesTest, BytesComeBackWhenTheLastUserLetsGo) {
  const auto id = Add(lease_, 100);
  auto used = ledger_.Find(lease_.lease_id, *id, ResourceKind::kBuffer, "buffer");
  ledger_.StreamLost(lease_);
  EXPECT_EQ(ledger_.used_bytes(), 100);
  used->reset();
  EXPECT_EQ(ledger_.used_bytes(), 0);
}

TEST_F(LeaseResourcesTest, TheEndOfALeaseTakesItsResources) {
  const auto mine = Add(lease_, 100);
  const auto theirs = Add(other_, 50);
  ledger_.StreamLost(lease_);
  EXPECT_EQ(ledger_.used_bytes(), 50);
  EXPECT_THAT(Find(lease_, *mine), FailsWith(ErrorReason::kLeaseEnded, "lease_id"));
  EXPECT_THAT(Find(other_, *mine), FailsWith(ErrorReason::kResourceStale, "buffer"));
  EXPECT_THAT(Find(other_, *theirs), IsOk());
}

TEST_F(LeaseResourcesTest, AClosedLeaseGivesBackAllThatNoRequestUses) {
  const auto unused = Add(lease_, 600), used = Add(lease_, 300);
  ASSERT_THAT(unused, IsOk());
  ASSERT_THAT(used, IsOk());
  auto in_use = ledger_.Find(lease_.lease_id, *used, ResourceKind::kBuffer, "buffer");
  ASSERT_THAT(in_use, IsOk());
  ASSERT_THAT(ledger_.CloseLease(lease_.lease_id), IsOk());
  EXPECT_EQ(ledger_.used_bytes(), 300);
  EXPECT_THAT(Find(lease_, *unused), FailsWith(ErrorReason::kLeaseEnded, "lease_id"));
  in_use->reset();
  EXPECT_EQ(ledger_.used_bytes(), 0);
}

TEST_F(LeaseResourcesTest, ResourcesAreListedInTheOrderOfTheirCreation) {
  const auto first = Add(lease_, 1);
  const auto second = Add(lease_, 2, ResourceKind::kPlan);
  ASSERT_THAT(ledger_.Release(lease_.lease_id, *first, ResourceKind::kBuffer, "buffer"), IsOk());
  ASSERT_THAT(Add(lease_, 3, ResourceKind::kPageTable), IsOk());
  const auto list = ledger_.Resources(lease_.lease_id);
  ASSERT_THAT(list, IsOk());
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].id, *second);
  EXPECT_EQ((*list)[1].size_bytes, 3);
  const auto summary = ledger_.List();
  EXPECT_EQ(summary[0].used_bytes, 5);
  EXPECT_EQ(summary[0].buffers, 0);
  EXPECT_EQ(summary[0].plans, 1);
  EXPECT_EQ(summary[0].page_tables, 1);
}

TEST_F(LeaseResourcesTest, AResourceOfALeaseThatEndedMeanwhileIsDropped) {
  auto holds = ledger_.Reserve(lease_.lease_id, 100);
  ASSERT_THAT(holds, IsOk());
  ledger_.StreamLost(lease_);
  EXPECT_THAT(
      ledger_.Add(lease_.lease_id, std::make_shared<FakeResource>(ResourceKind::kBuffer, 100),
                  *std::move(holds)),
      FailsWith(ErrorReason::kLeaseEnded, "lease_id"));
  EXPECT_EQ(ledger_.used_bytes(), 0);
}

}  // namespace
}  // namespace winnow::server
