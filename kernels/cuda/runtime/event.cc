#include "kernels/cuda/runtime/event.h"

#include <chrono>

#include "kernels/cuda/runtime/device_scope.h"
#include "kernels/cuda/runtime/stream.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cuda {
namespace {

constexpr auto kLookBeforeSleeping = std::chrono::microseconds(60);

}  // namespace

absl::StatusOr<std::unique_ptr<CudaEvent>> CudaEvent::Create(std::shared_ptr<DeviceHealth> health) {
  const DeviceScope scope(health->ordinal());
  cudaEvent_t event = nullptr;
  // Timing stays enabled; blocking sync makes Wait() sleep in the driver.
  WINNOW_RETURN_IF_ERROR(
      health->Check(cudaEventCreateWithFlags(&event, cudaEventBlockingSync), "creating an event"));
  return std::unique_ptr<CudaEvent>(new CudaEvent(std::move(health), event));
}

CudaEvent::~CudaEvent() {
  const DeviceScope scope(health_->ordinal());
  (void)health_->Check(cudaEventDestroy(event_), "destroying an event");
}

absl::Status CudaEvent::Record(Stream& stream) {
  const DeviceScope scope(health_->ordinal());
  return health_->Check(cudaEventRecord(event_, static_cast<CudaStream&>(stream).get()),
                        "recording an event");
}

absl::Status CudaEvent::Wait() {
  const DeviceScope scope(health_->ordinal());
  // A decode step is done sooner than the driver's interrupt would wake this thread.
  const auto look_until = std::chrono::steady_clock::now() + kLookBeforeSleeping;
  do {
    const cudaError_t error = cudaEventQuery(event_);
    if (error != cudaErrorNotReady) return health_->Check(error, "waiting for an event");
    cudaGetLastError();
  } while (std::chrono::steady_clock::now() < look_until);
  return health_->Check(cudaEventSynchronize(event_), "waiting for an event");
}

absl::StatusOr<bool> CudaEvent::Done() {
  const DeviceScope scope(health_->ordinal());
  const cudaError_t error = cudaEventQuery(event_);
  if (error == cudaErrorNotReady) {
    cudaGetLastError();  // not an error, but the runtime keeps it as the last one
    return false;
  }
  WINNOW_RETURN_IF_ERROR(health_->Check(error, "asking for an event"));
  return true;
}

absl::StatusOr<double> CudaEvent::MicrosSince(const Event& start) {
  const DeviceScope scope(health_->ordinal());
  float milliseconds = 0;
  WINNOW_RETURN_IF_ERROR(health_->Check(
      cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(start).event_, event_),
      "reading the time between events"));
  return static_cast<double>(milliseconds) * 1e3;
}

}  // namespace winnow::cuda
