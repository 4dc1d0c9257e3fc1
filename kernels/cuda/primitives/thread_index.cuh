// The thread's number, read afresh.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_THREAD_INDEX_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_THREAD_INDEX_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace winnow::cuda {

// threadIdx.x, opaque to the compiler. Phases of a long kernel each take their own: otherwise
// lanes, addresses and masks derived from it are computed once, kept for the whole kernel, and
// spilled.
__device__ __forceinline__ int32_t ThreadIndex() {
  uint32_t index = threadIdx.x;
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(index));
#endif
  return static_cast<int32_t>(index);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_THREAD_INDEX_CUH_
