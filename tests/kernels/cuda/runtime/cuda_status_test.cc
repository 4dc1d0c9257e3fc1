#include "kernels/cuda/runtime/cuda_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "winnow/kernels/device.h"
#include "winnow/kernels/error.h"

namespace winnow::cuda {
namespace {

using ::testing::HasSubstr;

ErrorReason ReasonOf(const absl::Status& status) {
  const auto info = GetErrorInfo(status);
  return info.has_value() ? info->reason : ErrorReason::kUnspecified;
}

TEST(CudaStatusTest, SuccessIsOk) { EXPECT_TRUE(StatusFromCuda(cudaSuccess, "copying", 0).ok()); }

TEST(CudaStatusTest, AnErrorNamesWhatWasDoneAndTheDevice) {
  const absl::Status status = StatusFromCuda(cudaErrorInvalidValue, "copying rows", 3);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("copying rows failed on cuda device 3"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("cudaErrorInvalidValue"));
  EXPECT_EQ(ReasonOf(status), ErrorReason::kInternal);
}

TEST(CudaStatusTest, MissingMemoryIsResourceExhausted) {
  const absl::Status status = StatusFromCuda(cudaErrorMemoryAllocation, "allocating", 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(status), ErrorReason::kMemoryExhausted);
}

TEST(CudaStatusTest, AMissingDriverIsUnavailable) {
  const absl::Status status = StatusFromCuda(cudaErrorInsufficientDriver, "looking", 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(status), ErrorReason::kDeviceUnavailable);
}

TEST(CudaStatusTest, ALostContextIsUnavailableForGood) {
  DeviceHealth health(1);
  EXPECT_TRUE(health.LostStatus().ok());
  const absl::Status first = health.Check(cudaErrorIllegalAddress, "waiting");
  EXPECT_EQ(first.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(first), ErrorReason::kDeviceLost);

  const absl::Status later = health.Check(cudaErrorInvalidValue, "copying");
  EXPECT_EQ(ReasonOf(later), ErrorReason::kDeviceLost);
  EXPECT_THAT(std::string(later.message()), HasSubstr("cudaErrorIllegalAddress"));
  EXPECT_EQ(ReasonOf(health.LostStatus()), ErrorReason::kDeviceLost);
}

TEST(CudaStatusTest, AnOrdinaryErrorDoesNotLoseTheDevice) {
  DeviceHealth health(0);
  EXPECT_FALSE(health.Check(cudaErrorInvalidValue, "copying").ok());
  EXPECT_TRUE(health.LostStatus().ok());
}

TEST(CudaStatusTest, OpeningADeviceThatDoesNotExistIsUnavailable) {
  const auto device = OpenCudaDevice({.ordinal = 4096});
  EXPECT_EQ(device.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(device.status()), ErrorReason::kDeviceUnavailable);
}

TEST(CudaStatusTest, WithoutADriverTheMessageSaysWhatToDo) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0)
    GTEST_SKIP() << "a driver is here";
  EXPECT_THAT(
      std::string(OpenCudaDevice({.ordinal = 0}).status().message()),
      HasSubstr("no NVIDIA driver found for cuda device 0 (libcuda.so.1: cannot open shared "
                "object file: No such file or directory); install the driver"));
}

}  // namespace
}  // namespace winnow::cuda
