#include "server/resources/descriptor_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "winnow/client/descriptor_passing.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;
using winnow::testing::IsOk;

const std::string kLease(32, 'a');

class DescriptorSocketTest : public ::testing::Test {
 protected:
  DescriptorSocketTest() {
    char name[] = "/tmp/winnow-test-XXXXXX";
    folder_ = mkdtemp(name);
    auto socket = DescriptorSocket::Listen(
        {.path = folder_ + "/fd", .max_connections = 2}, &inbox_,
        [](absl::string_view lease_id, uid_t peer) {
          EXPECT_EQ(peer, getuid());
          return lease_id == kLease ? absl::OkStatus()
                                    : MakeError(absl::StatusCode::kNotFound, "no such lease",
                                                {.reason = ErrorReason::kLeaseNotFound});
        });
    EXPECT_THAT(socket, IsOk());
    socket_ = *std::move(socket);
  }
  ~DescriptorSocketTest() override {
    socket_ = nullptr;
    EXPECT_EQ(rmdir(folder_.c_str()), 0) << "the socket's file is still there";
  }

  absl::StatusOr<std::string> Send(const std::string& lease_id) {
    const UniqueFd memory(memfd_create("test", MFD_CLOEXEC));
    return client::SendDescriptor(socket_->path(), lease_id, memory.get(), absl::Seconds(10));
  }

  UniqueFd Connect() {
    UniqueFd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, socket_->path().c_str());
    EXPECT_EQ(connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return connection;
  }

  // True when the server closes the connection without an answer.
  static bool IsClosed(const UniqueFd& connection) {
    char byte = 0;
    return recv(connection.get(), &byte, 1, 0) <= 0;
  }

  FakeClock clock_;
  DescriptorInbox inbox_{{}, &clock_};
  std::string folder_;
  std::unique_ptr<DescriptorSocket> socket_;
};

TEST_F(DescriptorSocketTest, ADescriptorArrivesAndIsTheSameMemory) {
  const UniqueFd memory(memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(write(memory.get(), "scores", 6), 6);
  const auto token =
      client::SendDescriptor(socket_->path(), kLease, memory.get(), absl::Seconds(10));
  ASSERT_THAT(token, IsOk());
  const auto received = inbox_.Take(kLease, *token);
  ASSERT_THAT(received, IsOk());
  char text[7] = {};
  ASSERT_EQ(pread(received->get(), text, 6, 0), 6);
  EXPECT_STREQ(text, "scores");
  EXPECT_NE(fcntl(received->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(DescriptorSocketTest, AnUnknownLeaseIsRefusedWithItsReason) {
  EXPECT_THAT(Send(std::string(32, 'b')).status(),
              FailsWith(ErrorReason::kLeaseNotFound, "descriptor"));
  EXPECT_EQ(inbox_.waiting(), 0);
}

TEST_F(DescriptorSocketTest, AnExportedDescriptorIsFetchedOnceByItsLease) {
  UniqueFd memory(memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(write(memory.get(), "scores", 6), 6);
  const auto token = inbox_.Put(kLease, std::move(memory));
  ASSERT_THAT(token, IsOk());
  EXPECT_THAT(
      client::FetchDescriptor(socket_->path(), std::string(32, 'b'), *token, absl::Seconds(10))
          .status(),
      FailsWith(ErrorReason::kLeaseNotFound, "descriptor"));
  const auto fetched = client::FetchDescriptor(socket_->path(), kLease, *token, absl::Seconds(10));
  ASSERT_THAT(fetched, IsOk());
  char text[7] = {};
  ASSERT_EQ(pread(fetched->get(), text, 6, 0), 6);
  EXPECT_STREQ(text, "scores");
  EXPECT_THAT(client::FetchDescriptor(socket_->path(), kLease, *token, absl::Seconds(10)).status(),
              FailsWith(ErrorReason::kResourceNotFound, "descriptor"));
}

TEST_F(DescriptorSocketTest, MalformedPacketsEndTheirConnectionOnly) {
  for (const std::string& bytes :
       {std::string("short"), std::string(33, 'a'), std::string(4000, 'a')}) {
    const UniqueFd connection = Connect();
    ASSERT_GT(send(connection.get(), bytes.data(), bytes.size(), 0), 0);
    EXPECT_TRUE(IsClosed(connection)) << bytes.size();
  }
  const UniqueFd without = Connect();  // the right size, but nothing attached
  ASSERT_EQ(send(without.get(), kLease.data(), kLease.size(), 0), 32);
  EXPECT_TRUE(IsClosed(without));
  EXPECT_THAT(Send(kLease), IsOk());
}

TEST_F(DescriptorSocketTest, SurplusDescriptorsAreClosed) {
  const UniqueFd connection = Connect();
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const int attached[3] = {writer.get(), writer.get(), writer.get()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(attached))] = {};
  iovec part = {.iov_base = const_cast<char*>(kLease.data()), .iov_len = kLease.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(attached));
  std::memcpy(CMSG_DATA(header), attached, sizeof(attached));
  ASSERT_EQ(sendmsg(connection.get(), &message, 0), 32);
  EXPECT_TRUE(IsClosed(connection));
  writer.Reset();
  char byte = 0;
  EXPECT_EQ(read(reader.get(), &byte, 1), 0) << "the server still holds the pipe";
}

TEST_F(DescriptorSocketTest, ConnectionsThatSayNothingDoNotHoldUpOthers) {
  std::vector<UniqueFd> silent;
  for (int connection = 0; connection < 5; ++connection) silent.push_back(Connect());
  EXPECT_THAT(Send(kLease), IsOk());
  EXPECT_TRUE(IsClosed(silent.front()));
}

TEST_F(DescriptorSocketTest, ThePathHasItsModeAndItsLimit) {
  struct stat status = {};
  ASSERT_EQ(stat(socket_->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0660u);
  EXPECT_THAT(DescriptorSocket::Listen({.path = std::string(200, 'x')}, &inbox_, nullptr),
              FailsWith(ErrorReason::kValueOutOfRange, "--listen"));
}

}  // namespace
}  // namespace winnow::server
