// Kernels of the exact route.

#include "kernels/cuda/kernel/topk_exact.cuh"
#include "kernels/cuda/launch/topk_kernels.h"

namespace winnow::cuda {

TopKKernels ExactKernels(DType dtype) {
  TopKKernels kernels;
  kernels.first = {dtype == DType::kBfloat16 ? TopKExact<Bfloat16Score> : TopKExact<Float32Score>,
                   kExactThreads, sizeof(ExactShared)};
  return kernels;
}

}  // namespace winnow::cuda
