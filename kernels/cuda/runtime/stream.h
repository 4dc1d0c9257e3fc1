// A stream of the CUDA device. Next: event.h; launch/launch_kernel.h for what is put on a stream.

#ifndef WINNOW_KERNELS_CUDA_RUNTIME_STREAM_H_
#define WINNOW_KERNELS_CUDA_RUNTIME_STREAM_H_

#include <cuda_runtime_api.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/runtime/cuda_status.h"
#include "winnow/kernels/device.h"

namespace winnow::cuda {

class CudaStream final : public Stream {
 public:
  // A non-blocking stream: it does not wait for the legacy default stream.
  static absl::StatusOr<std::unique_ptr<CudaStream>> Create(std::shared_ptr<DeviceHealth> health,
                                                            StreamPriority priority);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  absl::Status Synchronize() override;

  cudaStream_t get() const { return stream_; }

  // Whether a kernel may start while the one before it on this stream drains (programmatic
  // dependent launch, capability 9.0 and later). Results are the same; benchmarks turn it off to
  // time operations one by one. Not thread-safe, like the stream.
  bool dependent_launch() const { return dependent_launch_; }
  void set_dependent_launch(bool on) { dependent_launch_ = on; }

 private:
  CudaStream(std::shared_ptr<DeviceHealth> health, cudaStream_t stream)
      : health_(std::move(health)), stream_(stream) {}

  // Shared: a stream may outlive its device object and must still report a loss.
  const std::shared_ptr<DeviceHealth> health_;
  const cudaStream_t stream_;
  bool dependent_launch_ = true;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_RUNTIME_STREAM_H_
