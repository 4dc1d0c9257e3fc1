// Leases over several devices: which one each gets, and that it stays there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

#include "server/resources/lease_ledger.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using ::testing::ElementsAre;
using winnow::testing::FailsWith;
using winnow::testing::IsOk;
using winnow::testing::IsOverQuota;

class FakeBuffer final : public Resource {
 public:
  explicit FakeBuffer(int64_t bytes) : bytes_(bytes) {}
  ResourceKind kind() const override { return ResourceKind::kBuffer; }
  int64_t size_bytes() const override { return bytes_; }

 private:
  const int64_t bytes_;
};

class LeaseDevicesTest : public ::testing::Test {
 protected:
  LeaseDevicesTest()
      : ledger_({.devices = {{.number = 3, .max_bytes = 1000},
                             {.number = 5, .max_bytes = 1000},
                             {.number = 0, .max_bytes = 1000}}},
                &clock_, [this](const LeaseEnding& ending, auto finished) {
                  ended_places_.push_back(ending.device_place);
                  finished_.emplace(ending.number, std::move(finished));
                }) {}

  LeaseGrant Open(std::optional<int32_t> device = std::nullopt,
                  std::vector<int64_t> requests_in_flight = {}) {
    return *ledger_.Open({.resume_grace = absl::Seconds(10), .device = device}, requests_in_flight);
  }
  absl::Status Add(const LeaseGrant& lease, int64_t bytes) {
    auto holds = ledger_.Reserve(lease.lease_id, bytes);
    if (!holds.ok()) return holds.status();
    return ledger_.Add(lease.lease_id, std::make_shared<FakeBuffer>(bytes), *std::move(holds))
        .status();
  }
  std::vector<int64_t> ReservedBytes() const {
    std::vector<int64_t> bytes;
    for (const DeviceLoad& load : ledger_.DeviceLoads()) bytes.push_back(load.reserved_bytes);
    return bytes;
  }

  FakeClock clock_;
  std::vector<int32_t> ended_places_;
  std::map<int64_t, absl::AnyInvocable<void() &&>> finished_;
  LeaseLedger ledger_;
};

TEST_F(LeaseDevicesTest, ALeaseLivesOnTheDeviceThatItNames) {
  const LeaseGrant lease = Open(5);
  EXPECT_EQ(lease.device, 5);
  EXPECT_EQ(*ledger_.DevicePlaceOf(lease.lease_id), 1);
  EXPECT_EQ(ledger_.Use(lease.lease_id)->device_place, 1);
  EXPECT_EQ(ledger_.List()[0].device, 5);
}

TEST_F(LeaseDevicesTest, ADeviceThatIsNotThereIsRefusedAndOpensNothing) {
  EXPECT_THAT(ledger_.Open({.device = 1}), FailsWith(ErrorReason::kValueOutOfRange, "device"));
  EXPECT_TRUE(ledger_.List().empty());
}

TEST_F(LeaseDevicesTest, LeasesThatNameNoneAreSpreadBeforeTheyHoldAnything) {
  EXPECT_EQ(Open().device, 3);
  EXPECT_EQ(Open().device, 5);
  EXPECT_EQ(Open().device, 0);
  EXPECT_EQ(Open().device, 3);
}

TEST_F(LeaseDevicesTest, ALeaseThatNamesNoneTakesTheDeviceWithTheFewestBytes) {
  ASSERT_THAT(Add(Open(3), 300), IsOk());
  ASSERT_THAT(Add(Open(5), 100), IsOk());
  ASSERT_THAT(Add(Open(0), 200), IsOk());
  EXPECT_EQ(Open().device, 5);
}

TEST_F(LeaseDevicesTest, OfDevicesWithEqualMemoryTheOneWithFewerRequestsIsTaken) {
  EXPECT_EQ(Open(std::nullopt, {4, 2, 3}).device, 5);
}

TEST_F(LeaseDevicesTest, AResumedLeaseIsWhereItWas) {
  const LeaseGrant lease = Open(0);
  ASSERT_THAT(Add(lease, 100), IsOk());
  ledger_.StreamLost(lease);
  const auto resumed = ledger_.Resume(lease.lease_id, "unix:");
  ASSERT_THAT(resumed, IsOk());
  EXPECT_EQ(resumed->device, 0);
  EXPECT_EQ(*ledger_.DevicePlaceOf(lease.lease_id), 2);
}

TEST_F(LeaseDevicesTest, EachDeviceHasABoundOfItsOwn) {
  const LeaseGrant first = Open(3), same = Open(3), other = Open(5);
  ASSERT_THAT(Add(first, 900), IsOk());
  EXPECT_THAT(Add(same, 101), IsOverQuota("1000, the bytes of device 3"));
  EXPECT_THAT(Add(other, 1000), IsOk());
  EXPECT_THAT(ReservedBytes(), ElementsAre(900, 1000, 0));
}

TEST_F(LeaseDevicesTest, TheEndOfALeaseFreesItsDeviceAndNoOther) {
  const LeaseGrant first = Open(3), other = Open(5);
  ASSERT_THAT(Add(first, 600), IsOk());
  ASSERT_THAT(Add(other, 700), IsOk());
  ASSERT_THAT(ledger_.CloseLease(first.lease_id), IsOk());
  EXPECT_THAT(ended_places_, ElementsAre(0));
  EXPECT_THAT(ReservedBytes(), ElementsAre(0, 700, 0));
  EXPECT_EQ(ledger_.DeviceLoads()[0].leases, 1) << "its work may still run there";
  std::move(finished_.at(first.number))();
  EXPECT_EQ(ledger_.DeviceLoads()[0].leases, 0);
  EXPECT_THAT(ledger_.DevicePlaceOf(first.lease_id),
              FailsWith(ErrorReason::kLeaseEnded, "lease_id"));
}

TEST_F(LeaseDevicesTest, ClosingTheLedgerEndsTheLeasesOfAllDevices) {
  Open(0);
  Open(3);
  Open(5);
  ledger_.Close("draining");
  EXPECT_THAT(ended_places_, ElementsAre(2, 0, 1));
}

}  // namespace
}  // namespace winnow::server
