// Device and pinned host memory. Allocating synchronises the device: done at start-up, never by an
// operation.

#ifndef WINNOW_KERNELS_CUDA_RUNTIME_MEMORY_H_
#define WINNOW_KERNELS_CUDA_RUNTIME_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/cuda/runtime/cuda_status.h"
#include "winnow/kernels/device.h"

namespace winnow::cuda {

class CudaMemory final : public DeviceMemory {
 public:
  // `bytes` 0 gives memory without an address. ResourceExhausted when the memory is not there.
  static absl::StatusOr<std::unique_ptr<CudaMemory>> Allocate(std::shared_ptr<DeviceHealth> health,
                                                              MemoryKind kind, int64_t bytes);
  ~CudaMemory() override;
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  std::byte* data() const override { return data_; }
  int64_t size_bytes() const override { return size_bytes_; }

 private:
  CudaMemory(std::shared_ptr<DeviceHealth> health, MemoryKind kind, std::byte* data, int64_t bytes)
      : health_(std::move(health)), kind_(kind), data_(data), size_bytes_(bytes) {}

  const std::shared_ptr<DeviceHealth> health_;  // shared: see CudaStream
  const MemoryKind kind_;
  std::byte* const data_;
  const int64_t size_bytes_;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_RUNTIME_MEMORY_H_
