// Shared memory and where its descriptor may go.

#include "winnow/client/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/descriptor_passing.h"
#include "winnow/client/unique_descriptor.h"
#include "winnow/v1/error_detail.pb.h"

namespace winnow::client {
namespace {

using ::testing::HasSubstr;
using ::winnow::testing::FailsWith;
using ::winnow::testing::StatusIs;

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    char path[] = "/tmp/winnow_client.XXXXXX";
    folder_ = mkdtemp(path);
  }
  ~FolderTest() override { rmdir(folder_.c_str()); }

  std::string folder_;
};

TEST(SharedMemoryTest, ItsSizeCannotBeChangedUnderTheOtherSide) {
  auto memory = SharedMemory::Create(10000);
  ASSERT_OK(memory);
  EXPECT_EQ(memory->size_bytes(), 10000);
  EXPECT_EQ(memory->data()[9999], std::byte{0});
  EXPECT_NE(ftruncate(memory->descriptor(), 0), 0);
  EXPECT_NE(ftruncate(memory->descriptor(), 20000), 0);
  memory->data()[0] = std::byte{5};
  const SharedMemory moved = *std::move(memory);
  EXPECT_EQ(moved.data()[0], std::byte{5});
  EXPECT_EQ(memory->data(), nullptr);
}

TEST(SharedMemoryTest, ImpossibleSizesAreRefused) {
  EXPECT_THAT(SharedMemory::Create(0).status(),
              FailsWith(ErrorReason::kValueOutOfRange, "size_bytes"));
  EXPECT_THAT(SharedMemory::Create(INT64_MIN).status(),
              FailsWith(ErrorReason::kValueOutOfRange, "size_bytes"));
  EXPECT_THAT(SharedMemory::Create(INT64_MAX).status(),
              FailsWith(ErrorReason::kMemoryExhausted, "size_bytes"));
}

TEST_F(FolderTest, AFolderOfThisUserIsTrusted) {
  EXPECT_OK(CheckSocketFolder(folder_ + "/winnow.sock.fd", getuid()));
}

TEST_F(FolderTest, AFolderOfAnotherUserIsRefused) {
  if (getuid() == 0) {
    ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  }
  const uid_t me = getuid() == 0 ? 4242 : getuid() + 1;
  EXPECT_THAT(CheckSocketFolder(folder_ + "/winnow.sock.fd", me),
              FailsWith(ErrorReason::kPermissionDenied, "descriptor_socket_path"));
}

TEST_F(FolderTest, AFolderThatAllMayWriteIsRefused) {
  ASSERT_EQ(chmod(folder_.c_str(), 01777), 0);
  EXPECT_THAT(CheckSocketFolder(folder_ + "/winnow.sock.fd", getuid()),
              FailsWith(ErrorReason::kPermissionDenied, "descriptor_socket_path"));
  EXPECT_THAT(CheckSocketFolder("/tmp/winnow.sock.fd", getuid()),
              FailsWith(ErrorReason::kPermissionDenied, "descriptor_socket_path"));
}

TEST_F(FolderTest, ASocketThatIsNotThereIsUnavailable) {
  EXPECT_TRUE(absl::IsUnavailable(
      SendDescriptor(folder_ + "/none.fd", std::string(32, '0'), 0, absl::Seconds(1)).status()));
  EXPECT_TRUE(absl::IsUnavailable(CheckSocketFolder(folder_ + "/gone/x.fd", getuid())));
  EXPECT_THAT(SendDescriptor("", "", 0, absl::Seconds(1)).status(),
              FailsWith(ErrorReason::kNotInBuild, "descriptor_socket_path"));
}

// A socket at `path`, on which nobody listens yet.
UniqueDescriptor MakeSocket(const std::string& path, int type = SOCK_SEQPACKET) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueDescriptor made(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  EXPECT_EQ(bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return made;
}

TEST_F(FolderTest, TheDescriptorSocketIsBesideTheOneThatWasDialled) {
  const std::string there = "/run/winnow/w.sock.fd";
  const std::string here = folder_ + "/w.sock";
  EXPECT_EQ(DescriptorSocketPath("unix:" + here, there), there) << "nothing is there";
  const UniqueDescriptor served = MakeSocket(here + ".fd");
  ASSERT_EQ(listen(served.get(), 1), 0);
  EXPECT_EQ(DescriptorSocketPath("unix:" + here, there), here + ".fd");
  EXPECT_EQ(DescriptorSocketPath("unix://" + here, there), here + ".fd");
  EXPECT_EQ(DescriptorSocketPath("unix:" + here, "/run/winnow/other.sock.fd"),
            "/run/winnow/other.sock.fd")
      << "of another listener";
  EXPECT_EQ(DescriptorSocketPath("127.0.0.1:7070", there), there);
  EXPECT_EQ(DescriptorSocketPath("unix:" + here, ""), "") << "the server has none";
  unlink((here + ".fd").c_str());
}

TEST_F(FolderTest, ASocketThatIsBusyIsThere) {
  const std::string here = folder_ + "/w.sock";
  const UniqueDescriptor served = MakeSocket(here + ".fd");
  ASSERT_EQ(listen(served.get(), 0), 0);
  for (int turn = 0; turn < 4; ++turn) {  // nobody accepts: the queue is full before long
    EXPECT_EQ(DescriptorSocketPath("unix:" + here, "/run/w.sock.fd"), here + ".fd");
  }
  unlink((here + ".fd").c_str());
}

TEST_F(FolderTest, ASocketIsFoundWithoutADescriptorToLookWith) {
  const std::string here = folder_ + "/w.sock";
  const UniqueDescriptor served = MakeSocket(here + ".fd");
  ASSERT_EQ(listen(served.get(), 1), 0);
  rlimit usual = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string found = DescriptorSocketPath("unix:" + here, "/run/w.sock.fd");
  const std::string missed = DescriptorSocketPath("unix:" + here + "2", "/run/w.sock2.fd");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(found, here + ".fd");
  EXPECT_EQ(missed, "/run/w.sock2.fd");
  unlink((here + ".fd").c_str());
}

TEST_F(FolderTest, AFileThatNobodyServesIsNotTheDescriptorSocket) {
  const std::string there = "/run/winnow/w.sock.fd";
  const std::string here = folder_ + "/w.sock";
  MakeSocket(here + ".fd");  // as a server that was killed leaves it
  EXPECT_EQ(DescriptorSocketPath("unix:" + here, there), there);
  unlink((here + ".fd").c_str());
  const UniqueDescriptor other = MakeSocket(here + ".fd", SOCK_STREAM);
  ASSERT_EQ(listen(other.get(), 1), 0);
  EXPECT_EQ(DescriptorSocketPath("unix:" + here, there), there) << "of another protocol";
  const std::string long_path = folder_ + "/" + std::string(200, 'x');
  EXPECT_EQ(DescriptorSocketPath("unix:" + long_path, "/run/" + std::string(200, 'x') + ".fd"),
            "/run/" + std::string(200, 'x') + ".fd");
  unlink((here + ".fd").c_str());
}

// Root may use every file, so a test of access is done as another user.
class AsOrdinaryUser {
 public:
  AsOrdinaryUser() { EXPECT_TRUE(geteuid() != 0 || seteuid(65534) == 0); }
  ~AsOrdinaryUser() { EXPECT_EQ(seteuid(getuid()), 0); }
};

class ClosedSocketTest : public FolderTest {
 protected:
  void SetUp() override {
    const std::string other = folder_ + "/other";
    ASSERT_EQ(mkdir(other.c_str(), 0755), 0);
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
    MakeSocket(here_ + ".fd");  // as a server that was killed leaves it
    ASSERT_EQ(chmod((here_ + ".fd").c_str(), 0), 0);
  }
  void TearDown() override {
    unlink((here_ + ".fd").c_str());
    unlink(there_.c_str());
    rmdir((folder_ + "/other").c_str());
  }

  const std::string here_ = folder_ + "/w.sock", there_ = folder_ + "/other/w.sock.fd";
};

TEST_F(ClosedSocketTest, AFileThatThisUserMayNotUseGivesWayToAServerThatAnswers) {
  const UniqueDescriptor served = MakeSocket(there_);
  ASSERT_EQ(chmod(there_.c_str(), 0666), 0);
  ASSERT_EQ(listen(served.get(), 4), 0);
  const AsOrdinaryUser ordinary;
  EXPECT_EQ(DescriptorSocketPath("unix:" + here_, there_), there_);
}

TEST_F(ClosedSocketTest, WhereNothingElseAnswersItIsUsedAndTheErrorSaysWhatIsUnknown) {
  const AsOrdinaryUser ordinary;
  EXPECT_EQ(DescriptorSocketPath("unix:" + here_, there_), here_ + ".fd");
  EXPECT_THAT(
      SendDescriptor(here_ + ".fd", std::string(32, '0'), 0, absl::Seconds(1)).status(),
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr("whether a server listens there or a dead one left it is unknown")));
}

// Sends `bytes`, and a descriptor with them unless it is negative.
void Send(int peer, const std::string& bytes, int descriptor) {
  iovec part = {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  EXPECT_EQ(sendmsg(peer, &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

// A descriptor socket that gives each of `answers` to one sender, with `descriptor` unless it is
// negative.
class AnsweringSocket {
 public:
  AnsweringSocket(const std::string& path, std::vector<std::string> answers, int descriptor = -1)
      : socket_(MakeSocket(path)) {
    EXPECT_EQ(listen(socket_.get(), 1), 0);
    thread_ = std::thread([this, descriptor, answers = std::move(answers)] {
      for (const std::string& answer : answers) {
        const UniqueDescriptor peer(accept(socket_.get(), nullptr, nullptr));
        char request[128];
        EXPECT_GT(recv(peer.get(), request, sizeof(request), 0), 0);
        Send(peer.get(), answer, descriptor);
      }
    });
  }
  ~AnsweringSocket() { thread_.join(); }

 private:
  const UniqueDescriptor socket_;
  std::thread thread_;
};

TEST_F(FolderTest, EveryReasonOfTheContractArrives) {
  const std::string path = folder_ + "/x.fd";
  const auto* contract = v1::ErrorReason_descriptor();
  std::vector<std::string> answers;
  for (int i = 0; i < contract->value_count(); ++i) {
    const absl::string_view name = absl::StripPrefix(contract->value(i)->name(), "ERROR_REASON_");
    answers.push_back(absl::StrCat("E", name, " because of it"));
  }
  answers.push_back("ENO_SUCH_REASON because of it");
  {
    const AnsweringSocket server(path, answers);
    const auto refusal = [&] {
      return SendDescriptor(path, std::string(32, '0'), 0, absl::Seconds(30)).status();
    };
    for (int i = 0; i < contract->value_count(); ++i) {
      const auto reason = static_cast<ErrorReason>(contract->value(i)->number());
      const absl::Status status = refusal();
      EXPECT_THAT(status, FailsWith(reason, "descriptor"));
      EXPECT_EQ(status.message(), "because of it");
    }
    EXPECT_THAT(refusal(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("NO_SUCH_REASON because of it")));
  }
  unlink(path.c_str());
}

TEST_F(FolderTest, AFetchedDescriptorIsTheOneThatWasSent) {
  const std::string path = folder_ + "/x.fd";
  const auto memory = SharedMemory::Create(4096);
  ASSERT_OK(memory);
  {
    const AnsweringSocket server(path, {"D"}, memory->descriptor());
    const auto fetched = FetchDescriptor(path, std::string(32, '0'), "token", absl::Seconds(30));
    ASSERT_OK(fetched);
    struct stat sent = {}, got = {};
    ASSERT_EQ(fstat(memory->descriptor(), &sent), 0);
    ASSERT_EQ(fstat(fetched->get(), &got), 0);
    EXPECT_EQ(sent.st_ino, got.st_ino);
    EXPECT_NE(fetched->get(), memory->descriptor());
  }
  unlink(path.c_str());
}

TEST_F(FolderTest, ADescriptorThatIsNotThereIsNoSuccess) {
  const std::string path = folder_ + "/x.fd";
  {
    const AnsweringSocket server(path, {"D", "EPERMISSION_DENIED not yours", "x"});
    const auto fetch = [&] {
      return FetchDescriptor(path, std::string(32, '0'), "token", absl::Seconds(30)).status();
    };
    EXPECT_THAT(fetch(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("refused")));
    EXPECT_THAT(fetch(), FailsWith(ErrorReason::kPermissionDenied, "descriptor"));
    EXPECT_FALSE(fetch().ok());
  }
  unlink(path.c_str());
  EXPECT_TRUE(absl::IsUnavailable(
      FetchDescriptor(path, std::string(32, '0'), "token", absl::Seconds(1)).status()));
}

}  // namespace
}  // namespace winnow::client
