#include "server/resources/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/testing/status_matchers.h"

namespace winnow::server {
namespace {

using winnow::testing::FailsWith;
using winnow::testing::IsOk;

UniqueFd MakeMemory(int64_t bytes) {
  UniqueFd fd(memfd_create("scores", MFD_CLOEXEC));
  EXPECT_TRUE(fd.valid());
  EXPECT_EQ(ftruncate(fd.get(), bytes), 0);
  return fd;
}

TEST(SharedMemoryTest, WritesOfOneSideAreSeenByTheOther) {
  const UniqueFd fd = MakeMemory(8192);
  const auto memory = SharedMemory::Map(fd, {.offset_bytes = 4096, .size_bytes = 4096});
  ASSERT_THAT(memory, IsOk());
  const char text[] = "scores";
  ASSERT_EQ(pwrite(fd.get(), text, sizeof(text), 4096), static_cast<ssize_t>(sizeof(text)));
  EXPECT_EQ(std::memcmp((*memory)->data(), text, sizeof(text)), 0);
  (*memory)->data()[0] = std::byte{'S'};
  char first = 0;
  ASSERT_EQ(pread(fd.get(), &first, 1, 4096), 1);
  EXPECT_EQ(first, 'S');
}

TEST(SharedMemoryTest, RangesOutsideTheMemoryAreRefused) {
  const UniqueFd fd = MakeMemory(8192);
  struct Case {
    int64_t offset, size;
    ErrorReason reason;
    const char* field;
  };
  const Case cases[] = {
      {0, 8193, ErrorReason::kRangeOutOfBounds, "size_bytes"},
      {4096, 4097, ErrorReason::kRangeOutOfBounds, "size_bytes"},
      {8192, 1, ErrorReason::kRangeOutOfBounds, "size_bytes"},
      {12288, 1, ErrorReason::kRangeOutOfBounds, "offset_bytes"},
      {0, 0, ErrorReason::kRangeOutOfBounds, "size_bytes"},
      {0, -1, ErrorReason::kRangeOutOfBounds, "size_bytes"},
      {0, INT64_MAX, ErrorReason::kRangeOutOfBounds, "size_bytes"},
      {4096, INT64_MAX, ErrorReason::kRangeOutOfBounds, "size_bytes"},
      {INT64_MAX - 4095, 4096, ErrorReason::kRangeOutOfBounds, "offset_bytes"},
      {1, 1, ErrorReason::kAlignmentInvalid, "offset_bytes"},
      {-4096, 1, ErrorReason::kAlignmentInvalid, "offset_bytes"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(SharedMemory::Map(fd, {.offset_bytes = c.offset, .size_bytes = c.size}),
                FailsWith(c.reason, c.field))
        << c.offset << " " << c.size;
  }
}

TEST(SharedMemoryTest, OtherKindsOfFilesAreRefused) {
  const UniqueFd disk(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(SharedMemory::Map(disk, {.size_bytes = 1, .read_only = true}),
              FailsWith(ErrorReason::kFieldsConflict, "import_token"));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  EXPECT_THAT(SharedMemory::Map(reader, {.size_bytes = 1, .read_only = true}),
              FailsWith(ErrorReason::kFieldsConflict, "import_token"));
  EXPECT_THAT(SharedMemory::Map(UniqueFd(), {.size_bytes = 1}),
              FailsWith(ErrorReason::kFieldsConflict, "import_token"));
}

TEST(SharedMemoryTest, AMemoryThatMayNotBeWrittenNeedsReadOnly) {
  const UniqueFd fd = MakeMemory(4096);
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  const UniqueFd reader(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(reader.valid());
  EXPECT_THAT(SharedMemory::Map(reader, {.size_bytes = 4096}),
              FailsWith(ErrorReason::kPermissionDenied, "read_only"));
  EXPECT_THAT(SharedMemory::Map(reader, {.size_bytes = 4096, .read_only = true}), IsOk());
}

TEST(SharedMemoryTest, AnOwnerThatTruncatesHarmsOnlyItself) {
  const UniqueFd fd = MakeMemory(1 << 20);
  const auto memory = SharedMemory::Map(fd, {.size_bytes = 1 << 20});
  ASSERT_THAT(memory, IsOk());
  std::memset((*memory)->data(), 1, 1 << 20);
  EXPECT_THAT((*memory)->Intact(), IsOk());
  ASSERT_EQ(ftruncate(fd.get(), 4096), 0);
  int64_t sum = 0;
  for (int64_t index = 0; index < (1 << 20); ++index)
    sum += static_cast<int>((*memory)->data()[index]);
  EXPECT_EQ(sum, 4096);
  EXPECT_THAT((*memory)->Intact(), FailsWith(ErrorReason::kRangeOutOfBounds, "buffer"));
}

TEST(SharedMemoryTest, AWatchedSizeFindsATruncationThatNobodyRanInto) {
  const UniqueFd fd = MakeMemory(8192);
  const auto memory =
      SharedMemory::Map(fd, {.offset_bytes = 4096, .size_bytes = 4096, .watch_size = true});
  ASSERT_THAT(memory, IsOk());
  EXPECT_THAT((*memory)->Intact(), IsOk());
  ASSERT_EQ(ftruncate(fd.get(), 8191), 0);
  EXPECT_THAT((*memory)->Intact(), FailsWith(ErrorReason::kRangeOutOfBounds, "buffer"));
}

TEST(UniqueFdTest, ClosesWhenDestroyedAndNotWhenMovedFrom) {
  const int raw = memfd_create("fd", MFD_CLOEXEC);
  {
    UniqueFd first(raw);
    const UniqueFd second(std::move(first));
    EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): the state is documented
    EXPECT_EQ(second.get(), raw);
    EXPECT_NE(fcntl(raw, F_GETFD), -1);
  }
  EXPECT_EQ(fcntl(raw, F_GETFD), -1);
}

}  // namespace
}  // namespace winnow::server
