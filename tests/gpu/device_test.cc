// What a GPU says about itself, and how it answers questions about occupancy.

#include "tests/gpu/gpu_test.h"
#include "tests/testing/status_matchers.h"

namespace winnow::gpu {
namespace {

class DeviceTest : public GpuTest {};

TEST_F(DeviceTest, TheInfoDescribesTheGpuAndItsPool) {
  const DeviceInfo& info = device().info();
  EXPECT_EQ(info.kind, "cuda");
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.host_memory);
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_GT(info.l2_bytes, 0);
  EXPECT_GE(info.capability_major, 8);
  EXPECT_GT(info.pool_width, 0);
  EXPECT_FALSE(info.pool_note.empty());
  EXPECT_OK(device().Healthy());
}

TEST_F(DeviceTest, OccupancyIsWhatTheDriverSaysOrAnExplicitError) {
  for (const int32_t width : {1, 2, 4, 8, 16}) {
    for (const int32_t blocks_per_sm : {1, 2, 4}) {
      const auto clusters = device().ProbeOccupancy(width, blocks_per_sm);
      if (clusters.ok()) {
        // Clusters must fit inside a GPC: never more than a division of the SMs allows.
        EXPECT_GT(*clusters, 0);
        EXPECT_LE(*clusters * width, device().info().multiprocessors * blocks_per_sm);
      } else {
        EXPECT_THAT(clusters.status(),
                    testing::FailsWith(ErrorReason::kNoClusterFits, "cluster_size"));
        EXPECT_THAT(clusters.status(),
                    testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                      ::testing::HasSubstr(device().info().name)));
      }
    }
  }
}

TEST_F(DeviceTest, HopperPlacesClustersOfEight) {
  if (device().info().capability_major < 9) GTEST_SKIP() << "no clusters before capability 9.0";
  const auto clusters = device().ProbeOccupancy(8, 1);
  ASSERT_OK(clusters);
  EXPECT_EQ(*clusters, device().traits().clusters_of_8);
}

TEST_F(DeviceTest, WidthsThatNoClusterHasAreRefused) {
  for (const int32_t width : {-1, 0, 3, 32}) {
    EXPECT_THAT(device().ProbeOccupancy(width, 1),
                testing::FailsWith(ErrorReason::kValueOutOfRange, "cluster_size"));
  }
  EXPECT_THAT(device().ProbeOccupancy(8, 0),
              testing::FailsWith(ErrorReason::kValueOutOfRange, "blocks_per_sm"));
}

TEST_F(DeviceTest, MoreMemoryThanThereIsIsResourceExhaustedAndHarmless) {
  const auto memory = device().Allocate(MemoryKind::kDevice, device().info().memory_bytes * 2);
  EXPECT_THAT(memory.status(), testing::FailsWith(ErrorReason::kMemoryExhausted, ""));
  EXPECT_TRUE(absl::IsResourceExhausted(memory.status()));
  EXPECT_OK(device().Healthy());
  EXPECT_OK(device().Allocate(MemoryKind::kPinnedHost, 4096));
}

TEST_F(DeviceTest, AnEventIsNotDoneBeforeItsWork) {
  auto stream = device().CreateStream(StreamPriority::kHigh);
  auto event = device().CreateEvent();
  constexpr int64_t kBytes = int64_t{1} << 30;
  auto memory = device().Allocate(MemoryKind::kDevice, kBytes);
  ASSERT_OK(stream);
  ASSERT_OK(event);
  ASSERT_OK(memory);
  for (int i = 0; i < 50; ++i) ASSERT_OK(device().Fill(**stream, (*memory)->data(), i, kBytes));
  ASSERT_OK((*event)->Record(**stream));
  const auto early = (*event)->Done();
  ASSERT_OK(early);
  EXPECT_FALSE(*early);
  ASSERT_OK((*event)->Wait());
  const auto late = (*event)->Done();
  ASSERT_OK(late);
  EXPECT_TRUE(*late);
}

}  // namespace
}  // namespace winnow::gpu
