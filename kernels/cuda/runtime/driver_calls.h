// The calls of the driver that the runtime does not have: virtual memory and words on streams. They
// are found at run time, so that a program that links the library starts without a driver.

#ifndef WINNOW_KERNELS_CUDA_RUNTIME_DRIVER_CALLS_H_
#define WINNOW_KERNELS_CUDA_RUNTIME_DRIVER_CALLS_H_

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "absl/status/statusor.h"

namespace winnow::cuda {

struct DriverCalls {
  decltype(&cuMemGetAddressRange) get_address_range = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) free_reserved = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuMemExportToShareableHandle) export_handle = nullptr;
  decltype(&cuMemImportFromShareableHandle) import_handle = nullptr;
  decltype(&cuStreamWaitValue32) wait_value = nullptr;
  decltype(&cuStreamWriteValue32) write_value = nullptr;

  // Found once for the process. Unavailable (DEVICE_UNAVAILABLE), naming the call, when the driver
  // has not got one of them.
  static absl::StatusOr<const DriverCalls*> Get();
};

// The driver's errors have the numbers of the runtime's.
inline cudaError_t AsRuntimeError(CUresult result) { return static_cast<cudaError_t>(result); }

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_RUNTIME_DRIVER_CALLS_H_
