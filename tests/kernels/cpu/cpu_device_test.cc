#include "kernels/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace winnow {
namespace {

using testing::FailsWith;

TEST(CpuDeviceTest, TheDeviceSaysWhatItIs) {
  const auto device = OpenCpuDevice({.threads = 3});
  ASSERT_OK(device);
  const DeviceInfo& info = (*device)->info();
  EXPECT_EQ(info.kind, "cpu");
  EXPECT_EQ(info.multiprocessors, 3);
  EXPECT_EQ(info.pool_width, 3);
  EXPECT_TRUE(info.host_memory);
  EXPECT_EQ(info.instruction_set, cpu::BestRowKernels().name);
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_FALSE(info.name.empty());
}

TEST(CpuDeviceTest, TheDefaultIsAThreadForEachUsableCore) {
  const auto device = OpenCpuDevice({});
  ASSERT_OK(device);
  EXPECT_GE((*device)->info().multiprocessors, 1);
}

TEST(CpuDeviceTest, OneThreadHasNoPoolAndSaysSo) {
  const auto device = OpenCpuDevice({.threads = 1});
  ASSERT_OK(device);
  EXPECT_EQ((*device)->info().pool_width, 0);
  EXPECT_EQ((*device)->info().pool_note, "one thread: no row is shared");
}

TEST(CpuDeviceTest, ThreadsOutOfRangeAreRefused) {
  for (const int32_t threads : {-1, 1025, INT32_MAX}) {
    EXPECT_THAT(OpenCpuDevice({.threads = threads}),
                FailsWith(ErrorReason::kValueOutOfRange, "threads"));
  }
}

TEST(CpuDeviceTest, MemoryIsAlignedAndZeroAtFirst) {
  const auto device = OpenCpuDevice({.threads = 1});
  ASSERT_OK(device);
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kPinnedHost}) {
    const auto memory = (*device)->Allocate(kind, 1000);
    ASSERT_OK(memory);
    EXPECT_EQ((*memory)->size_bytes(), 1000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*memory)->data()) % 256, 0u);
    EXPECT_EQ((*memory)->data()[999], std::byte{0});
  }
}

TEST(CpuDeviceTest, SizesThatMakeNoSenseAreRefused) {
  const auto device = OpenCpuDevice({.threads = 1});
  ASSERT_OK(device);
  for (const int64_t bytes : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    EXPECT_THAT((*device)->Allocate(MemoryKind::kDevice, bytes),
                FailsWith(ErrorReason::kValueOutOfRange, "bytes"));
  }
  EXPECT_THAT((*device)->Allocate(MemoryKind::kDevice, INT64_MAX),
              FailsWith(ErrorReason::kMemoryExhausted, "bytes"));
  const auto stream = (*device)->CreateStream(StreamPriority::kNormal);
  ASSERT_OK(stream);
  char byte = 5;
  EXPECT_THAT((*device)->Copy(**stream, &byte, &byte, -1),
              FailsWith(ErrorReason::kValueOutOfRange, "bytes"));
  EXPECT_THAT((*device)->Fill(**stream, &byte, 0, -1),
              FailsWith(ErrorReason::kValueOutOfRange, "bytes"));
  EXPECT_THAT((*device)->CopyRows(**stream, &byte, 1, &byte, 1, 1, -1),
              FailsWith(ErrorReason::kValueOutOfRange, "height"));
  EXPECT_OK((*device)->Copy(**stream, nullptr, nullptr, 0));
}

TEST(CpuDeviceTest, OccupancyIsForGpus) {
  const auto device = OpenCpuDevice({.threads = 1});
  ASSERT_OK(device);
  EXPECT_EQ((*device)->ProbeOccupancy(8, 2).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace winnow
