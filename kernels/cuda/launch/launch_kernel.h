// Puts one kernel on a stream: grid, block, dynamic shared memory, cluster, dependent launch.
// The only place that calls cudaLaunchKernelEx. Usable from .cu files and from plain C++.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_LAUNCH_KERNEL_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_LAUNCH_KERNEL_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

namespace winnow::cuda {

struct LaunchShape {
  int64_t blocks = 0;  // grid size in x; a multiple of cluster_size; 0 launches nothing
  int32_t threads = 0;
  int32_t shared_bytes = 0;  // dynamic; above 48 KB the caller must have called AllowSharedBytes
  int32_t cluster_size = 1;
  // The kernel may start while its predecessor on the stream drains. It must call
  // WaitForPredecessor() in every block before it touches global memory.
  bool dependent = false;
};

template <typename... Parameters, typename... Arguments>
cudaError_t LaunchKernel(void (*kernel)(Parameters...), const LaunchShape& shape,
                         cudaStream_t stream, Arguments&&... arguments) {
  if (shape.blocks == 0) return cudaSuccess;
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(shape.blocks));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<size_t>(shape.shared_bytes);
  config.stream = stream;
  config.attrs = attributes;
  if (shape.cluster_size > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {static_cast<unsigned>(shape.cluster_size), 1,
                                                    1};
  }
  if (shape.dependent) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_LAUNCH_KERNEL_H_
