// CUDA entry points of a build without a CUDA toolkit: they say so.

#include "winnow/kernels/device.h"
#include "winnow/kernels/error.h"

namespace winnow {

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(const CudaDeviceOptions&) {
  return MakeError(absl::StatusCode::kUnimplemented,
                   "this build has no CUDA device; build with -DWINNOW_CUDA=ON",
                   {.reason = ErrorReason::kNotInBuild});
}

int32_t CudaDeviceCount() { return 0; }

}  // namespace winnow
