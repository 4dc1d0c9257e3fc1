#include "server/app/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(ParseListenerTest, UnixPathsAndLoopbackAddressesAreAccepted) {
  EXPECT_EQ(ParseListener("unix:/run/winnow.sock")->socket_path, "/run/winnow.sock");
  EXPECT_EQ(ParseListener("unix:///run/winnow.sock")->address, "unix:/run/winnow.sock");
  EXPECT_EQ(ParseListener("127.0.0.1:7000")->address, "127.0.0.1:7000");
  EXPECT_EQ(ParseListener("127.8.9.1:0")->address, "127.8.9.1:0");
  EXPECT_EQ(ParseListener("[::1]:7000")->address, "[::1]:7000");
  EXPECT_EQ(ParseListener("localhost:7000")->address, "127.0.0.1:7000");
  EXPECT_EQ(ParseListener("localhost:7000")->socket_path, "");
}

TEST(ParseListenerTest, OtherHostsNeedTls) {
  for (const char* text : {"0.0.0.0:7000", "10.0.0.1:7000", "[::]:7000", "example.com:80", ":7000",
                           "127.0.0.1.example.com:80"}) {
    EXPECT_THAT(ParseListener(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("TLS")))
        << text;
  }
}

TEST(ParseListenerTest, WhatIsNoAddressIsRefused) {
  for (const char* text : {"", "unix:", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000",
                           "127.0.0.1:-1", "127.0.0.1:-0", "127.0.0.1:http", "/run/winnow.sock"}) {
    EXPECT_EQ(ParseListener(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(ParseListener(absl::StrCat("unix:/", std::string(107, 'x'))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 107 bytes")));
}

class SocketClaimTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/winnow_claim_test.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    path_ = folder_ + "/s";
  }
  void TearDown() override {
    unlink(path_.c_str());
    EXPECT_EQ(rmdir(folder_.c_str()), 0) << "something is left in " << folder_;
  }

  // A socket file with a listener behind it; closing the descriptor leaves the file, as a crash
  // does.
  int Listen() {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd, 1), 0);
    return fd;
  }

  bool Exists() const {
    struct stat status;
    return lstat(path_.c_str(), &status) == 0;
  }

  std::string folder_, path_;
};

TEST_F(SocketClaimTest, TheSocketOfADeadServerIsRemoved) {
  close(Listen());
  ASSERT_TRUE(Exists());
  EXPECT_OK(SocketClaim::Take(path_));
  EXPECT_FALSE(Exists());
}

TEST_F(SocketClaimTest, ASocketThatAnswersIsLeftAlone) {
  const int fd = Listen();
  EXPECT_THAT(SocketClaim::Take(path_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a server answers on it")));
  EXPECT_TRUE(Exists());
  close(fd);
}

TEST_F(SocketClaimTest, ASocketThatThisUserMayNotUseIsLeftAloneWithoutAClaimThatItAnswers) {
  close(Listen());
  ASSERT_EQ(chmod(path_.c_str(), 0), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  // Root may use every file.
  ASSERT_TRUE(geteuid() != 0 || seteuid(65534) == 0);
  const absl::Status status = SocketClaim::Take(path_).status();
  ASSERT_EQ(seteuid(getuid()), 0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("whether a server answers on it is unknown: Permission")));
  EXPECT_TRUE(Exists());
}

TEST_F(SocketClaimTest, APathIsHeldByOneAtATime) {
  auto first = SocketClaim::Take(path_);
  ASSERT_OK(first);
  EXPECT_THAT(SocketClaim::Take(path_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                 HasSubstr("another winnow-server holds it")));
  first->reset();
  EXPECT_OK(SocketClaim::Take(path_));
}

TEST_F(SocketClaimTest, AFileThatIsNoSocketIsLeftAlone) {
  std::ofstream(path_) << "precious";
  EXPECT_THAT(SocketClaim::Take(path_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is no socket")));
  EXPECT_TRUE(Exists());
}

TEST_F(SocketClaimTest, AFolderThatCannotBeUsedIsNamedWithWhatToDo) {
  EXPECT_THAT(
      SocketClaim::Take(folder_ + "/none/s", "--admin-listen"),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               absl::StrCat("--admin-listen=unix:", folder_, "/none/s: the folder ", folder_,
                            "/none/ does not exist; make it or choose another path")));
  std::ofstream(path_) << "file";
  EXPECT_THAT(SocketClaim::Take(path_ + "/s"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/s/ is no folder; ")));
}

TEST_F(SocketClaimTest, AFolderThatThisUserMayNotWriteIsNamed) {
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  // Root may write everywhere.
  ASSERT_TRUE(geteuid() != 0 || seteuid(65534) == 0);
  const absl::Status status = SocketClaim::Take(path_).status();
  ASSERT_EQ(seteuid(getuid()), 0);
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("this user may not write in the folder " + folder_)));
}

}  // namespace
}  // namespace winnow::server
