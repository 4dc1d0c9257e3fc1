#include "server/resources/device_choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;

TEST(DeviceChoiceTest, TheDeviceWithTheFewestReservedBytesIsTheLeastLoaded) {
  EXPECT_EQ(LeastLoaded(std::vector<DeviceLoad>{
                {.reserved_bytes = 200}, {.reserved_bytes = 300}, {.reserved_bytes = 100}}),
            2);
  EXPECT_EQ(LeastLoaded(std::vector<DeviceLoad>{{.reserved_bytes = 1},
                                                {.leases = 9, .requests_in_flight = 9}}),
            1)
      << "bytes come before all else";
}

TEST(DeviceChoiceTest, OfEqualBytesTheFewestLeasesDecide) {
  EXPECT_EQ(LeastLoaded(std::vector<DeviceLoad>{
                {.reserved_bytes = 5, .leases = 2},
                {.reserved_bytes = 5, .leases = 1, .requests_in_flight = 7}}),
            1);
}

TEST(DeviceChoiceTest, OfEqualLeasesTheFewestRequestsDecideAndThenTheOrder) {
  EXPECT_EQ(LeastLoaded(std::vector<DeviceLoad>{
                {.requests_in_flight = 2}, {.requests_in_flight = 1}, {.requests_in_flight = 1}}),
            1);
  EXPECT_EQ(LeastLoaded(std::vector<DeviceLoad>(3)), 0);
}

TEST(DeviceChoiceTest, ADeviceIsFoundByItsNumberAndNotByItsPlace) {
  const std::vector<LeaseDevice> devices = {{.number = 4}, {.number = 1}};
  EXPECT_EQ(*FindDevice(devices, 4), 0);
  EXPECT_EQ(*FindDevice(devices, 1), 1);
}

TEST(DeviceChoiceTest, AnUnknownNumberIsRefusedWithThoseThatThereAre) {
  const std::vector<LeaseDevice> devices = {{.number = 4}, {.number = 1}};
  for (const int32_t number : {0, -1, 2, INT32_MAX}) {
    const absl::Status status = FindDevice(devices, number).status();
    EXPECT_THAT(status, FailsWith(ErrorReason::kValueOutOfRange, "device"));
    EXPECT_EQ(GetErrorInfo(status)->value, std::to_string(number));
    EXPECT_EQ(GetErrorInfo(status)->limit, "the devices 4, 1");
  }
}

}  // namespace
}  // namespace winnow::server
