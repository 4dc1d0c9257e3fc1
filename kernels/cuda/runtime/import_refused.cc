#include "kernels/cuda/runtime/import_refused.h"

#include "absl/strings/str_cat.h"
#include "kernels/cuda/runtime/driver_calls.h"
#include "winnow/kernels/error.h"

namespace winnow::cuda {

absl::Status CheckImport(DeviceHealth& health, cudaError_t error, absl::string_view doing) {
  const absl::Status status = health.Check(error, doing);
  if (!absl::IsInternal(status)) return status;
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      absl::StrCat("the driver refused the memory while ", doing, ": ", cudaGetErrorName(error),
                   "; its owner must live, on this host, and share it by this means"),
      {.reason = ErrorReason::kImportRefused, .value = cudaGetErrorName(error)});
}

absl::Status CheckImport(DeviceHealth& health, CUresult result, absl::string_view doing) {
  return CheckImport(health, AsRuntimeError(result), doing);
}

}  // namespace winnow::cuda
