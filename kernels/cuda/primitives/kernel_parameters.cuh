// The kernel's own parameters.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_KERNEL_PARAMETERS_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_KERNEL_PARAMETERS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace winnow::cuda {

// Brings `parameters`, a __grid_constant__ parameter of the kernel, into the constant cache, a word
// of each line. Called before WaitForPredecessor, it takes their misses out of the chain that
// starts when the predecessor ends.
template <typename Parameters>
__device__ __forceinline__ void TouchParameters(const Parameters& parameters) {
#ifdef __CUDA_ARCH__
  const uint32_t* const words = reinterpret_cast<const uint32_t*>(&parameters);
#pragma unroll
  for (int word = 0; word < static_cast<int>(sizeof(Parameters) / 4); word += 16) {
    asm volatile("" ::"r"(words[word]));
  }
#endif
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_KERNEL_PARAMETERS_CUH_
