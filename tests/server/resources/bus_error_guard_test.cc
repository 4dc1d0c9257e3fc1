#include "server/resources/bus_error_guard.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>

namespace winnow::server {
namespace {

// A mapping of `pages` pages whose file has none left.
std::byte* MapThenTruncate(int64_t bytes, int* fd) {
  *fd = memfd_create("guard", MFD_CLOEXEC);
  EXPECT_EQ(ftruncate(*fd, bytes), 0);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
  EXPECT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(ftruncate(*fd, 0), 0);
  return static_cast<std::byte*>(mapped);
}

TEST(BusErrorGuardTest, ReadingTruncatedMemoryGivesZerosAndIsRemembered) {
  const int64_t bytes = 4 * sysconf(_SC_PAGESIZE);
  int fd = -1;
  std::byte* data = MapThenTruncate(bytes, &fd);
  const int guard = GuardBusErrors(data, bytes);
  ASSERT_GE(guard, 0);
  EXPECT_FALSE(BusErrorCaught(guard));
  const auto read = [data](int64_t at) {
    return static_cast<int>(*static_cast<volatile std::byte*>(data + at));
  };
  EXPECT_EQ(read(bytes / 2), 0);
  EXPECT_EQ(read(bytes - 1), 0);
  EXPECT_EQ(read(0), 0);
  EXPECT_TRUE(BusErrorCaught(guard));
  UnguardBusErrors(guard);
  munmap(data, bytes);
  close(fd);
}

TEST(BusErrorGuardTest, AReusedGuardStartsUnbroken) {
  const int64_t bytes = sysconf(_SC_PAGESIZE);
  int fd = -1;
  std::byte* data = MapThenTruncate(bytes, &fd);
  const int guard = GuardBusErrors(data, bytes);
  data[0] = std::byte{1};
  EXPECT_TRUE(BusErrorCaught(guard));
  UnguardBusErrors(guard);
  munmap(data, bytes);
  close(fd);
  std::byte other[1] = {};
  const int again = GuardBusErrors(other, 1);
  EXPECT_FALSE(BusErrorCaught(again));
  UnguardBusErrors(again);
}

TEST(BusErrorGuardDeathTest, ABusErrorElsewhereEndsTheProcess) {
  const int64_t bytes = sysconf(_SC_PAGESIZE);
  EXPECT_EXIT(
      {
        int fd = -1;
        std::byte guarded[1] = {};
        GuardBusErrors(guarded, 1);
        volatile std::byte* data = MapThenTruncate(bytes, &fd);
        (void)data[0];
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace winnow::server
