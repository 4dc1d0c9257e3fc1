// Where an operation's launches go. Built by CudaDevice for each call; nothing keeps it.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_LAUNCH_CONTEXT_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_LAUNCH_CONTEXT_H_

#include <cuda_runtime_api.h>

#include "kernels/cuda/tuning/device_traits.h"

namespace winnow::cuda {

struct LaunchContext {
  const DeviceTraits& traits;
  cudaStream_t stream = nullptr;
  bool dependent_launch = false;  // launches may use programmatic dependent launch
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_LAUNCH_CONTEXT_H_
