// The one place where a cudaError_t becomes an absl::Status, and the memory of a lost context.
// Next: device_scope.h, stream.h, event.h and memory.h for what uses it.

#ifndef WINNOW_KERNELS_CUDA_RUNTIME_CUDA_STATUS_H_
#define WINNOW_KERNELS_CUDA_RUNTIME_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace winnow::cuda {

// Whether `error` means that the context is gone: every later call of the process on that device
// fails with the same error, and only a new process helps.
bool IsContextLost(cudaError_t error);

// Ok for cudaSuccess. Otherwise `doing` ("copying rows") stands in the message, and the code is
//   Unavailable DEVICE_LOST           the context is gone
//   Unavailable DEVICE_UNAVAILABLE    no usable device, driver or code for it
//   ResourceExhausted MEMORY_EXHAUSTED
//   Internal INTERNAL                 anything else: our bug
// Touches no CUDA state.
absl::Status StatusFromCuda(cudaError_t error, absl::string_view doing, int32_t ordinal);

// What one device has lived through. Shared by the device and by the streams, events and memory
// made from it, any of which may be the one to see the context die. Thread-safe.
class DeviceHealth {
 public:
  explicit DeviceHealth(int32_t ordinal) : ordinal_(ordinal) {}
  DeviceHealth(const DeviceHealth&) = delete;
  DeviceHealth& operator=(const DeviceHealth&) = delete;

  // StatusFromCuda(error); also clears the runtime's last error of this thread, so that the next
  // call does not report this one again, and remembers a lost context. Once one was seen every
  // later failure is DEVICE_LOST, whatever the runtime calls it.
  absl::Status Check(cudaError_t error, absl::string_view doing);

  // Ok until a context loss was seen; the same Unavailable DEVICE_LOST for good from then on.
  absl::Status LostStatus() const;

  int32_t ordinal() const { return ordinal_; }

 private:
  const int32_t ordinal_;
  std::atomic<cudaError_t> lost_{cudaSuccess};
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_RUNTIME_CUDA_STATUS_H_
