// Leases of the client library on a server with several devices: where they are, and where they are
// after the server came back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/integration/restartable_server.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/client/lease.h"

namespace winnow::client {
namespace {

using ::winnow::testing::FailsWith;
using ::winnow::testing::IsOk;
using ::winnow::testing::LeaseEventLog;
using ::winnow::testing::RestartableServer;

class ClientDevicesTest : public ::testing::Test {
 protected:
  ClientDevicesTest() { Restart("--devices=0,1"); }
  void Restart(const std::string& devices) {
    server_.Kill();
    server_.Start({"--backend=cpu", devices});
  }
  // The event of the restart tells that the lease is back.
  bool CameBack() { return log_.Await(LeaseEventKind::kRestored).has_value(); }

  RestartableServer server_;
  LeaseEventLog log_;
};

TEST_F(ClientDevicesTest, ALeaseIsOnTheDeviceThatItNames) {
  const Client client = server_.Connect(/*streaming=*/false);
  const auto info = client.GetServerInfo();
  ASSERT_THAT(info, IsOk());
  ASSERT_EQ(info->devices.size(), 2u);
  const auto lease = client.OpenLease({.device = info->devices[1].ordinal});
  ASSERT_THAT(lease, IsOk());
  EXPECT_EQ(lease->device(), 1);
  const auto buffer = lease->AllocateBuffer(4096);
  ASSERT_THAT(buffer, IsOk());
  EXPECT_EQ(client.GetServerInfo()->devices[1].load.leased_bytes, 4096);
  EXPECT_EQ(client.ListLeases()->front().device, 1);
}

TEST_F(ClientDevicesTest, ADeviceThatIsNotThereIsAnErrorThatNamesIt) {
  const Client client = server_.Connect(/*streaming=*/false);
  EXPECT_THAT(client.OpenLease({.device = 7}), FailsWith(ErrorReason::kValueOutOfRange, "device"));
  EXPECT_THAT(client.ProbeOccupancy({.device = 7}),
              FailsWith(ErrorReason::kValueOutOfRange, "device"));
}

TEST_F(ClientDevicesTest, ALeaseThatNamedNoDeviceComesBackWhereItWas) {
  const Client client = server_.Connect(/*streaming=*/true);
  std::optional<Lease> first = *client.OpenLease();
  const auto second = client.OpenLease({.on_event = log_.Listener()});
  ASSERT_THAT(second, IsOk());
  ASSERT_EQ(first->device(), 0);
  ASSERT_EQ(second->device(), 1);
  first.reset();
  Restart("--devices=0,1");
  ASSERT_TRUE(CameBack());
  EXPECT_EQ(second->device(), 1) << "the least loaded would have been the other";
}

TEST_F(ClientDevicesTest, ALeaseThatNamedNoDeviceTakesAnotherWhenItsOwnIsGone) {
  const Client client = server_.Connect(/*streaming=*/false);
  const auto first = client.OpenLease();
  const auto second = client.OpenLease({.on_event = log_.Listener()});
  ASSERT_EQ(second->device(), 1);
  Restart("--devices=0");
  ASSERT_TRUE(CameBack());
  EXPECT_EQ(second->device(), 0);
  EXPECT_THAT(second->AllocateBuffer(4096), IsOk());
}

TEST_F(ClientDevicesTest, ALeaseThatNamedADeviceEndsWhenItIsGone) {
  const Client client = server_.Connect(/*streaming=*/false);
  const auto lease = client.OpenLease({.device = 1, .on_event = log_.Listener()});
  ASSERT_THAT(lease, IsOk());
  Restart("--devices=0");
  const auto ended = log_.Await(LeaseEventKind::kEnded);
  ASSERT_TRUE(ended.has_value());
  EXPECT_THAT(ended->status, FailsWith(ErrorReason::kValueOutOfRange, "device"));
}

}  // namespace
}  // namespace winnow::client
