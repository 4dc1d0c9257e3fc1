// Makes one device current on this thread for a scope. The library never leaves another device
// current than its caller chose.

#ifndef WINNOW_KERNELS_CUDA_RUNTIME_DEVICE_SCOPE_H_
#define WINNOW_KERNELS_CUDA_RUNTIME_DEVICE_SCOPE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace winnow::cuda {

class DeviceScope {
 public:
  explicit DeviceScope(int32_t ordinal) {
    error_ = cudaGetDevice(&previous_);
    if (error_ != cudaSuccess || previous_ == ordinal) return;
    error_ = cudaSetDevice(ordinal);
    restore_ = error_ == cudaSuccess;
  }
  ~DeviceScope() {
    if (restore_) cudaSetDevice(previous_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  // What making the device current returned. Calls that follow fail by themselves if it failed.
  cudaError_t error() const { return error_; }

 private:
  cudaError_t error_ = cudaSuccess;
  int previous_ = 0;
  bool restore_ = false;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_RUNTIME_DEVICE_SCOPE_H_
