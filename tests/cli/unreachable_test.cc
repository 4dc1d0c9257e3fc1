// What is said of a target at which no server answers.

#include "client/cli/unreachable.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/temp_dir.h"

namespace winnow::cli {
namespace {

using ::testing::HasSubstr;

constexpr char kStartOne[] = "; start one with 'winnow-server', or name another with --target";

// A socket at `path` that nobody listens on, as a server that crashed leaves it.
void LeaveSocket(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
}

// Root may use every file, so a test of access is done as another user.
class AsOrdinaryUser {
 public:
  AsOrdinaryUser() { EXPECT_TRUE(geteuid() != 0 || seteuid(65534) == 0); }
  ~AsOrdinaryUser() { EXPECT_EQ(seteuid(getuid()), 0); }
};

TEST(WhyUnreachableTest, APathThatIsNotThereIsSaidToBeMissing) {
  TempDir dir;
  for (const std::string& path : {dir.File("s"), dir.File("none/s"), dir.Write("f", "x") + "/s"}) {
    EXPECT_EQ(WhyUnreachable("unix:" + path),
              "no server answers at unix:" + path + ": there is no such socket" + kStartOne);
  }
  EXPECT_THAT(WhyUnreachable("unix://" + dir.File("s")), HasSubstr("there is no such socket"));
}

TEST(WhyUnreachableTest, AFileOrFolderIsSaidToBeNoSocket) {
  TempDir dir;
  for (const std::string& path : {dir.Write("file", "precious"), dir.path()}) {
    EXPECT_EQ(WhyUnreachable("unix:" + path),
              "no server answers at unix:" + path +
                  ": it is no socket; name the one of a server with --target");
  }
}

TEST(WhyUnreachableTest, ASocketThatNobodyListensOnIsSaidToBeLeft) {
  TempDir dir;
  LeaveSocket(dir.File("s"));
  EXPECT_EQ(WhyUnreachable("unix:" + dir.File("s")),
            "no server answers at unix:" + dir.File("s") +
                ": the socket is left of a server that has ended" + kStartOne);
}

TEST(WhyUnreachableTest, ASocketOfOthersNamesTheSettingsOfItsServer) {
  TempDir dir;
  LeaveSocket(dir.File("s"));
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(dir.File("s").c_str(), 0), 0);
  std::string of_socket, of_folder;
  {
    const AsOrdinaryUser ordinary;
    of_socket = WhyUnreachable("unix:" + dir.File("s"));
  }
  ASSERT_EQ(chmod(dir.File("s").c_str(), 0666), 0);
  ASSERT_EQ(chmod(dir.path().c_str(), 0), 0);
  {
    const AsOrdinaryUser ordinary;
    of_folder = WhyUnreachable("unix:" + dir.File("s"));
  }
  ASSERT_EQ(chmod(dir.path().c_str(), 0700), 0);
  for (const std::string& why : {of_socket, of_folder}) {
    EXPECT_THAT(why, HasSubstr(": permission denied: this user may not use the socket; "));
    EXPECT_THAT(why, HasSubstr("the server's --listen"));
    EXPECT_THAT(why, HasSubstr("--socket-group"));
  }
}

TEST(WhyUnreachableTest, OfAnAddressOnTheNetworkNothingMoreIsKnown) {
  EXPECT_EQ(WhyUnreachable("127.0.0.1:1"),
            std::string("no server answers at 127.0.0.1:1") + kStartOne);
}

TEST(WhyUnreachableTest, TheTargetCannotControlTheTerminal) {
  EXPECT_THAT(WhyUnreachable("unix:/no\x1b[2J"), HasSubstr("unix:/no\\033[2J"));
}

}  // namespace
}  // namespace winnow::cli
