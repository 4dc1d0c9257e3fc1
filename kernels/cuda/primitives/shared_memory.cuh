// The block's dynamic shared memory as a struct.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_SHARED_MEMORY_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_SHARED_MEMORY_CUH_

#include <cuda_runtime.h>

namespace winnow::cuda {

// One struct per kernel, sizeof(Shared) bytes of dynamic shared memory at the launch. Nothing is
// initialised.
template <typename Shared>
__device__ __forceinline__ Shared& DynamicShared() {
  extern __shared__ __align__(16) unsigned char winnow_dynamic_shared[];
  static_assert(alignof(Shared) <= 16, "dynamic shared memory is aligned to 16 bytes");
  return *reinterpret_cast<Shared*>(winnow_dynamic_shared);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_SHARED_MEMORY_CUH_
