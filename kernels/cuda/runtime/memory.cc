#include "kernels/cuda/runtime/memory.h"

#include "absl/strings/str_cat.h"
#include "kernels/cuda/runtime/device_scope.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cuda {

absl::StatusOr<std::unique_ptr<CudaMemory>> CudaMemory::Allocate(
    std::shared_ptr<DeviceHealth> health, MemoryKind kind, int64_t bytes) {
  if (bytes < 0) {
    return InvalidField(ErrorReason::kValueOutOfRange, "bytes", bytes, "0 or more");
  }
  const DeviceScope scope(health->ordinal());
  WINNOW_RETURN_IF_ERROR(health->Check(scope.error(), "making the device current"));
  void* data = nullptr;
  if (bytes > 0) {
    const bool device = kind == MemoryKind::kDevice;
    // Portable pinned memory, so that a copy from any device of the process is asynchronous.
    const cudaError_t error =
        device ? cudaMalloc(&data, bytes) : cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
    WINNOW_RETURN_IF_ERROR(health->Check(
        error, absl::StrCat("allocating ", bytes, device ? " bytes of device" : " bytes of pinned",
                            " memory")));
  }
  return std::unique_ptr<CudaMemory>(
      new CudaMemory(std::move(health), kind, static_cast<std::byte*>(data), bytes));
}

CudaMemory::~CudaMemory() {
  if (data_ == nullptr) return;
  const DeviceScope scope(health_->ordinal());
  const cudaError_t error = kind_ == MemoryKind::kDevice ? cudaFree(data_) : cudaFreeHost(data_);
  (void)health_->Check(error, "freeing memory");
}

}  // namespace winnow::cuda
