// Kernels of the short route for float32: rows of up to 4,096, 8,192 and 16,384 scores.

#include "kernels/cuda/launch/topk_short_kernels.cuh"

namespace winnow::cuda {

TopKKernels ShortKernelsFloat32(int32_t max_results, int32_t loads) {
  return MakeShortKernelsFor<Float32Score, 2, 4, 8>(max_results, loads);
}

}  // namespace winnow::cuda
