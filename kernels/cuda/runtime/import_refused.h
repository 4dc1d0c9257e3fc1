// What the driver answers about another process's memory is that process's fault, unless the device
// itself is in trouble.

#ifndef WINNOW_KERNELS_CUDA_RUNTIME_IMPORT_REFUSED_H_
#define WINNOW_KERNELS_CUDA_RUNTIME_IMPORT_REFUSED_H_

#include <cuda.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/cuda/runtime/cuda_status.h"

namespace winnow::cuda {

// FailedPrecondition (IMPORT_REFUSED) with the driver's word for it; lost devices and exhausted
// memory are reported as ever.
absl::Status CheckImport(DeviceHealth& health, cudaError_t error, absl::string_view doing);
absl::Status CheckImport(DeviceHealth& health, CUresult result, absl::string_view doing);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_RUNTIME_IMPORT_REFUSED_H_
