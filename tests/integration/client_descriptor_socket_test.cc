// Shared memory where the file beside the dialled socket is not the server's descriptor socket. The
// client dials through a folder of links, as a container sees folders of its host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/integration/server_process.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/client.h"
#include "winnow/client/lease.h"

namespace winnow::client {
namespace {

using ::testing::HasSubstr;
using ::winnow::testing::FailsWith;
using ::winnow::testing::ServerProcess;
using ::winnow::testing::TempFolder;

class ClientDescriptorSocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.running()) << server_.log();
    ASSERT_TRUE(other_.running()) << other_.log();
    Link(server_.socket_path(), dialled_);
  }

  static void Link(const std::string& to, const std::string& link) {
    ASSERT_EQ(symlink(to.c_str(), link.c_str()), 0);
  }
  Lease Open() const {
    auto lease = Client::Create({.target = "unix:" + dialled_})->OpenLease();
    EXPECT_OK(lease);
    return *std::move(lease);
  }

  ServerProcess server_, other_;
  TempFolder folder_;
  const std::string dialled_ = folder_.Path("winnow.sock");
  const std::string beside_ = dialled_ + ".fd";
};

TEST_F(ClientDescriptorSocketTest, ItsOwnIsUsedThroughAnyPath) {
  Link(server_.socket_path() + ".fd", beside_);
  EXPECT_OK(Open().ShareMemory(4096));
}

TEST_F(ClientDescriptorSocketTest, AnotherServersIsNamedAndDoesNotEndTheLease) {
  Link(other_.socket_path() + ".fd", beside_);
  const Lease lease = Open();
  const auto buffer = lease.AllocateBuffer(64);
  ASSERT_OK(buffer);
  const std::vector<int32_t> written = {1, 2, 3};
  ASSERT_OK(buffer->WriteElements<int32_t>(0, written));
  const absl::Status refused = lease.ShareMemory(4096).status();
  EXPECT_THAT(refused, FailsWith(ErrorReason::kPermissionDenied, "descriptor_socket_path"));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("socket " + beside_ + " belongs to another server"));
  std::vector<int32_t> read(3);
  EXPECT_OK(buffer->ReadElements<int32_t>(0, absl::MakeSpan(read)));
  EXPECT_EQ(read, written) << "the lease is the one that it was";
}

TEST_F(ClientDescriptorSocketTest, WhereNobodyListensTheServersOwnPathIsTaken) {
  // A file that a killed server left.
  other_.Signal(SIGKILL);
  other_.AwaitExit();
  Link(other_.socket_path() + ".fd", beside_);
  ASSERT_TRUE(std::filesystem::exists(beside_));
  EXPECT_OK(Open().ShareMemory(4096));
}

}  // namespace
}  // namespace winnow::client
