// The commands about devices, on a server with two.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_command.h"
#include "tests/integration/server_process.h"
#include "winnow/client/client.h"
#include "winnow/client/lease.h"

namespace winnow::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class DeviceCommandsTest : public ::testing::Test {
 protected:
  DeviceCommandsTest() : server_({.flags = {"--backend=cpu", "--devices=0,1"}}) {}
  void SetUp() override { ASSERT_TRUE(server_.running()) << server_.log(); }

  CommandResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--target", server_.unix_target()});
    return RunWinnow(arguments);
  }
  client::Lease OpenOn(int32_t device) {
    const auto client = client::Client::Create({.target = server_.unix_target()});
    return *client->OpenLease({.display_name = "engine", .device = device});
  }

  testing::ServerProcess server_;
};

TEST_F(DeviceCommandsTest, InfoShowsEachDeviceWithItsLoad) {
  const client::Lease lease = OpenOn(1);
  const auto buffer = lease.AllocateBuffer(1 << 20);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  const std::string text = Run({"info"}).out;
  EXPECT_THAT(text, ContainsRegex("device 0 +cpu, "));
  EXPECT_THAT(text, ContainsRegex("device 1 +cpu, "));
  EXPECT_THAT(text, HasSubstr("0 leases with 0 B of 1.0 GiB, 0 waiting, 0 running"));
  EXPECT_THAT(text, HasSubstr("1 lease with 1.0 MiB of 1.0 GiB, 0 waiting, 0 running"));
  const nlohmann::json json = ParseJson(Run({"info", "--json"}));
  ASSERT_EQ(json["devices"].size(), 2u);
  EXPECT_EQ(json["devices"][1]["ordinal"], 1);
  EXPECT_EQ(json["devices"][1]["load"]["leases"], 1);
  EXPECT_EQ(json["devices"][1]["load"]["leased_bytes"], 1 << 20);
  EXPECT_EQ(json["device"], json["devices"][0]);
}

TEST_F(DeviceCommandsTest, LeasesShowsTheDeviceOfEach) {
  const client::Lease lease = OpenOn(1);
  EXPECT_THAT(Run({"leases"}).out, ContainsRegex(" open +1 +[0-9]+s "));
  EXPECT_EQ(ParseJson(Run({"leases", "--json"}))["leases"][0]["device"], 1);
}

TEST_F(DeviceCommandsTest, ProbeAsksTheDeviceThatItIsGiven) {
  const CommandResult probe = Run({"probe", "--deep", "--device", "1"});
  EXPECT_EQ(probe.exit_code, 0) << probe.out << probe.err;
  EXPECT_THAT(probe.out, HasSubstr("device 1 of 2: cpu, "));
  EXPECT_EQ(ParseJson(Run({"probe", "--device", "1", "--json"}))["device"]["ordinal"], 1);
  EXPECT_EQ(ParseJson(Run({"probe", "--json"}))["device"]["ordinal"], 0);
}

TEST_F(DeviceCommandsTest, ADeviceThatIsNotThereIsBadUsage) {
  for (const std::string command : {"probe", "occupancy"}) {
    const CommandResult result = Run({command, "--device", "2"});
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr("--device is 2; "));
    EXPECT_THAT(result.err, HasSubstr(" has 0, 1\n"));
  }
  EXPECT_EQ(Run({"occupancy", "--device", "-1"}).exit_code, 2);
}

}  // namespace
}  // namespace winnow::cli
