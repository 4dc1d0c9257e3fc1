// Dynamic shared memory on the machine of tests/simt. Stands in for the header of this name.

#ifndef WINNOW_TESTS_SIMT_SHADOW_KERNELS_CUDA_PRIMITIVES_SHARED_MEMORY_CUH_
#define WINNOW_TESTS_SIMT_SHADOW_KERNELS_CUDA_PRIMITIVES_SHARED_MEMORY_CUH_

#include "tests/simt/include/cuda_runtime.h"

namespace winnow::cuda {

template <typename Shared>
Shared& DynamicShared() {
  static_assert(alignof(Shared) <= 16, "dynamic shared memory is aligned to 16 bytes");
  return *reinterpret_cast<Shared*>(simt::SharedMemory());
}

}  // namespace winnow::cuda

#endif  // WINNOW_TESTS_SIMT_SHADOW_KERNELS_CUDA_PRIMITIVES_SHARED_MEMORY_CUH_
