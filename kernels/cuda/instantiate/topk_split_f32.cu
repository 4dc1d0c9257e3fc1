// Kernels of the split route for float32.

#include "kernels/cuda/launch/topk_scan_kernels.cuh"

namespace winnow::cuda {

TopKKernels SplitKernelsFloat32(int32_t max_results, int32_t loads) {
  if (max_results == 512) {
    return loads == 8 ? MakeSplitKernels<Float32Score, DeepShape<512>>()
                      : MakeSplitKernels<Float32Score, SliceShape<512>>();
  }
  return loads == 8 ? MakeSplitKernels<Float32Score, DeepShape<kMaxK>>()
                    : MakeSplitKernels<Float32Score, SliceShape<kMaxK>>();
}

}  // namespace winnow::cuda
