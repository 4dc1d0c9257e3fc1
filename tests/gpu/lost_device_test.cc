// A program of its own: it loses the device on purpose, and every later call must say so. The only
// way to get there is a pointer that the contract forbids; bad data never does it.

#include "tests/gpu/gpu_test.h"
#include "tests/testing/status_matchers.h"

namespace winnow::gpu {
namespace {

class LostDeviceTest : public GpuTest {};

TEST_F(LostDeviceTest, ALostContextIsReportedAsSuchForGood) {
  auto stream = device().CreateStream(StreamPriority::kNormal);
  auto memory = device().Allocate(MemoryKind::kDevice, 4096);
  ASSERT_OK(stream);
  ASSERT_OK(memory);
  BlockAmaxSegment segment;
  segment.scores = (*memory)->data();
  segment.row_stride = segment.columns = 64;
  segment.rows = 1;
  segment.lengths = reinterpret_cast<const int32_t*>(uintptr_t{0x1000});  // no memory there
  segment.keys = reinterpret_cast<float*>((*memory)->data() + 1024);
  segment.keys_row_stride = segment.keys_columns = 8;
  segment.report = reinterpret_cast<SegmentReport*>((*memory)->data() + 2048);
  ASSERT_OK(device().BlockAmax(**stream, {}, {&segment, 1}));

  const auto lost = testing::FailsWith(ErrorReason::kDeviceLost, "");
  EXPECT_THAT((*stream)->Synchronize(), lost);
  EXPECT_THAT(device().Healthy(), lost);
  EXPECT_THAT(device().Healthy(), lost);
  EXPECT_THAT(device().Allocate(MemoryKind::kDevice, 4096).status(), lost);
  EXPECT_THAT(device().CreateStream(StreamPriority::kNormal).status(), lost);
  EXPECT_THAT(device().BlockAmax(**stream, {}, {&segment, 1}), lost);
  EXPECT_TRUE(absl::IsUnavailable(device().Healthy()));
}

}  // namespace
}  // namespace winnow::gpu
