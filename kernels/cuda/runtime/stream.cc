#include "kernels/cuda/runtime/stream.h"

#include <utility>

#include "kernels/cuda/runtime/device_scope.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cuda {

absl::StatusOr<std::unique_ptr<CudaStream>> CudaStream::Create(std::shared_ptr<DeviceHealth> health,
                                                               StreamPriority priority) {
  const DeviceScope scope(health->ordinal());
  WINNOW_RETURN_IF_ERROR(health->Check(scope.error(), "making the device current"));
  int lowest = 0;
  int highest = 0;
  WINNOW_RETURN_IF_ERROR(health->Check(cudaDeviceGetStreamPriorityRange(&lowest, &highest),
                                       "reading the stream priorities"));
  cudaStream_t stream = nullptr;
  WINNOW_RETURN_IF_ERROR(health->Check(
      cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                   priority == StreamPriority::kHigh ? highest : lowest),
      "creating a stream"));
  return std::unique_ptr<CudaStream>(new CudaStream(std::move(health), stream));
}

CudaStream::~CudaStream() {
  const DeviceScope scope(health_->ordinal());
  // The error, if any, was or will be reported by whoever waits for the work; here only the loss of
  // the context is worth remembering.
  (void)health_->Check(cudaStreamSynchronize(stream_), "waiting for a stream");
  (void)health_->Check(cudaStreamDestroy(stream_), "destroying a stream");
}

absl::Status CudaStream::Synchronize() {
  const DeviceScope scope(health_->ordinal());
  return health_->Check(cudaStreamSynchronize(stream_), "waiting for a stream");
}

}  // namespace winnow::cuda
