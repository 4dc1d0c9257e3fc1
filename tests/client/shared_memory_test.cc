// Shared memory and where its descriptor may go.

#include "winnow/client/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "client/src/descriptor_sender.h"
#include "tests/testing/status_matchers.h"

namespace winnow::client {
namespace {

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

}  // namespace
}  // namespace winnow::client
