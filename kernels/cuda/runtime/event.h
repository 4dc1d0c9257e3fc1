// A point in a CUDA stream: timed, and waited for. A wait looks for some tens of microseconds and
// then sleeps.

#ifndef WINNOW_KERNELS_CUDA_RUNTIME_EVENT_H_
#define WINNOW_KERNELS_CUDA_RUNTIME_EVENT_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/runtime/cuda_status.h"
#include "winnow/kernels/device.h"

namespace winnow::cuda {

class CudaEvent final : public Event {
 public:
  static absl::StatusOr<std::unique_ptr<CudaEvent>> Create(std::shared_ptr<DeviceHealth> health);
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  absl::Status Record(Stream& stream) override;
  absl::Status Wait() override;
  absl::StatusOr<bool> Done() override;
  // `start` must be an event of a CUDA device.
  absl::StatusOr<double> MicrosSince(const Event& start) override;

 private:
  CudaEvent(std::shared_ptr<DeviceHealth> health, cudaEvent_t event)
      : health_(std::move(health)), event_(event) {}

  const std::shared_ptr<DeviceHealth> health_;  // shared: see CudaStream
  const cudaEvent_t event_;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_RUNTIME_EVENT_H_
