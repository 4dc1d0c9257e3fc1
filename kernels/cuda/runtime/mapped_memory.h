// CUDA virtual memory: a range of addresses over chunks that this process made or another one sent.

#ifndef WINNOW_KERNELS_CUDA_RUNTIME_MAPPED_MEMORY_H_
#define WINNOW_KERNELS_CUDA_RUNTIME_MAPPED_MEMORY_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/runtime/cuda_status.h"
#include "kernels/cuda/runtime/driver_calls.h"
#include "winnow/kernels/device.h"

namespace winnow::cuda {

// The driver keeps a chunk as long as any process maps it. Destroying it unmaps at once: work that
// uses it must be done.
class MappedMemory final : public DeviceMemory {
 public:
  // Chunks that come from descriptors; the descriptors stay the caller's. Errors as in
  // MemorySharing::MapDescriptors.
  static absl::StatusOr<std::unique_ptr<MappedMemory>> Import(std::shared_ptr<DeviceHealth> health,
                                                              absl::Span<const int> descriptors,
                                                              int64_t chunk_bytes, bool read_only);
  // One new chunk of at least `bytes` that can be exported.
  static absl::StatusOr<std::unique_ptr<MappedMemory>> Create(std::shared_ptr<DeviceHealth> health,
                                                              int64_t bytes);
  ~MappedMemory() override;
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  std::byte* data() const override { return reinterpret_cast<std::byte*>(address_); }
  int64_t size_bytes() const override { return size_bytes_; }

  // A new descriptor of the only chunk.
  absl::StatusOr<int> Export();

 private:
  MappedMemory(std::shared_ptr<DeviceHealth> health, const DriverCalls* calls)
      : health_(std::move(health)), calls_(calls) {}

  // Maps the chunks one after the other.
  absl::Status Map(int64_t chunk_bytes, bool read_only);

  const std::shared_ptr<DeviceHealth> health_;  // shared: see CudaStream
  const DriverCalls* const calls_;
  std::vector<CUmemGenericAllocationHandle> chunks_;
  CUdeviceptr address_ = 0;
  int64_t size_bytes_ = 0;    // reserved
  int64_t mapped_bytes_ = 0;  // of it, from the start
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_RUNTIME_MAPPED_MEMORY_H_
