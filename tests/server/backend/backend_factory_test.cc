#include "server/backend/backend_factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using winnow::testing::FailsWith;

BackendOptions SmallOptions(std::string kind) {
  return {.kind = std::move(kind), .buffer_pool_bytes = 1 << 20, .staging_pool_bytes = 1 << 20};
}

TEST(BackendFactoryTest, CpuIsTakenWhenAskedFor) {
  const auto backend = OpenBackend(SmallOptions("cpu"));
  ASSERT_OK(backend);
  EXPECT_EQ((*backend)->info().device.kind, "cpu");
  EXPECT_EQ((*backend)->info().choice_reason, "cpu was asked for");
  EXPECT_EQ((*backend)->info().launch_slots, 4);
  EXPECT_OK((*backend)->Healthy());
}

TEST(BackendFactoryTest, AutoSaysWhatItTookAndWhy) {
  const auto backend = OpenBackend(SmallOptions("auto"));
  ASSERT_OK(backend);
  const BackendInfo& info = (*backend)->info();
  if (CudaDeviceCount() > 0) {
    EXPECT_EQ(info.device.kind, "cuda");
    EXPECT_THAT(info.choice_reason, HasSubstr("answers"));
  } else {
    EXPECT_EQ(info.device.kind, "cpu");
    EXPECT_THAT(info.choice_reason, StartsWith("cpu, because "));
  }
}

TEST(BackendFactoryTest, CudaIsNotReplacedSilently) {
  if (CudaDeviceCount() > 0) GTEST_SKIP() << "a CUDA device answers here";
  const auto backend = OpenBackend(SmallOptions("cuda"));
  EXPECT_TRUE(absl::IsUnimplemented(backend.status()) || absl::IsUnavailable(backend.status()))
      << backend.status();
  // The device has no option of that name, and the flag is spelt otherwise.
  EXPECT_NE(GetErrorInfo(backend.status())->field, "backend");
}

TEST(BackendFactoryTest, OptionsOutOfRangeAreRefused) {
  EXPECT_THAT(OpenBackend(SmallOptions("tpu")), FailsWith(ErrorReason::kEnumUnknown, "--backend"));
  BackendOptions options = SmallOptions("cpu");
  options.launch_slots = 0;
  EXPECT_THAT(OpenBackend(options), FailsWith(ErrorReason::kValueOutOfRange, "launch_slots"));
  options = SmallOptions("cpu");
  options.staging_pool_bytes = 10;
  EXPECT_THAT(OpenBackend(options), FailsWith(ErrorReason::kValueOutOfRange, "staging_pool_bytes"));
  options = SmallOptions("cpu");
  options.buffer_pool_bytes = int64_t{1} << 49;
  EXPECT_THAT(OpenBackend(options), FailsWith(ErrorReason::kMemoryExhausted, "bytes"));
}

}  // namespace
}  // namespace winnow::server
