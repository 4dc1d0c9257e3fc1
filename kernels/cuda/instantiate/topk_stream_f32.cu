// Kernels of the stream route for float32.

#include "kernels/cuda/launch/topk_scan_kernels.cuh"

namespace winnow::cuda {

TopKKernels StreamKernelsFloat32(int32_t max_results, int32_t loads) {
  if (max_results == 512) {
    return loads == 8 ? MakeStreamKernels<Float32Score, DeepShape<512>>()
                      : MakeStreamKernels<Float32Score, SharedShape<512>>();
  }
  return loads == 8 ? MakeStreamKernels<Float32Score, DeepShape<kMaxK>>()
                    : MakeStreamKernels<Float32Score, SharedShape<kMaxK>>();
}

}  // namespace winnow::cuda
