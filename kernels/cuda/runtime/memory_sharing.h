// Memory of other processes on the GPU, and memory for them. Next: mapped_memory.h for CUDA virtual
// memory.

#ifndef WINNOW_KERNELS_CUDA_RUNTIME_MEMORY_SHARING_H_
#define WINNOW_KERNELS_CUDA_RUNTIME_MEMORY_SHARING_H_

#include <memory>
#include <utility>

#include "kernels/cuda/runtime/cuda_status.h"
#include "kernels/cuda/runtime/driver_calls.h"
#include "winnow/kernels/device.h"
#include "winnow/kernels/memory_sharing.h"

namespace winnow::cuda {

class CudaMemorySharing final : public MemorySharing {
 public:
  explicit CudaMemorySharing(std::shared_ptr<DeviceHealth> health) : health_(std::move(health)) {}

  absl::StatusOr<std::unique_ptr<DeviceMemory>> OpenIpcHandle(absl::string_view handle) override;
  absl::StatusOr<std::unique_ptr<DeviceMemory>> MapDescriptors(absl::Span<const int> descriptors,
                                                               int64_t chunk_bytes,
                                                               bool read_only) override;
  absl::StatusOr<std::unique_ptr<DeviceMemory>> RegisterHostMemory(std::byte* host,
                                                                   int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<ExportedMemory>> AllocateForExport(ExportKind kind,
                                                                    int64_t bytes) override;
  absl::Status AwaitWord(Stream& stream, const std::byte* word, uint32_t value) override;
  absl::Status SetWord(Stream& stream, std::byte* word, uint32_t value) override;

 private:
  const std::shared_ptr<DeviceHealth> health_;  // shared with all that it makes
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_RUNTIME_MEMORY_SHARING_H_
