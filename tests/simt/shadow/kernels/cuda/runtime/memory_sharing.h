// Stands in for the header of the same name: the simulated device is of one process, there is
// nobody to share memory with.

#ifndef WINNOW_TESTS_SIMT_SHADOW_KERNELS_CUDA_RUNTIME_MEMORY_SHARING_H_
#define WINNOW_TESTS_SIMT_SHADOW_KERNELS_CUDA_RUNTIME_MEMORY_SHARING_H_

#include <memory>

#include "absl/status/status.h"
#include "kernels/cuda/runtime/cuda_status.h"
#include "winnow/kernels/memory_sharing.h"

namespace winnow::cuda {

class CudaMemorySharing final : public MemorySharing {
 public:
  explicit CudaMemorySharing(const std::shared_ptr<DeviceHealth>&) {}

  absl::StatusOr<std::unique_ptr<DeviceMemory>> OpenIpcHandle(absl::string_view) override {
    return Refusal();
  }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> MapDescriptors(absl::Span<const int>, int64_t,
                                                               bool) override {
    return Refusal();
  }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> RegisterHostMemory(std::byte*, int64_t) override {
    return Refusal();
  }
  absl::StatusOr<std::unique_ptr<ExportedMemory>> AllocateForExport(ExportKind, int64_t) override {
    return Refusal();
  }
  absl::Status AwaitWord(Stream&, const std::byte*, uint32_t) override { return Refusal(); }
  absl::Status SetWord(Stream&, std::byte*, uint32_t) override { return Refusal(); }

 private:
  static absl::Status Refusal() {
    return absl::UnimplementedError("the simulated device shares no memory");
  }
};

}  // namespace winnow::cuda

#endif  // WINNOW_TESTS_SIMT_SHADOW_KERNELS_CUDA_RUNTIME_MEMORY_SHARING_H_
