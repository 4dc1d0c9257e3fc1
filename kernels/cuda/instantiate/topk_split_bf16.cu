// Kernels of the split route for bfloat16.

#include "kernels/cuda/launch/topk_scan_kernels.cuh"

namespace winnow::cuda {

TopKKernels SplitKernelsBfloat16(int32_t max_results) {
  return max_results == 512 ? MakeSplitKernels<Bfloat16Score, SliceShape<512>>()
                            : MakeSplitKernels<Bfloat16Score, SliceShape<kMaxK>>();
}

}  // namespace winnow::cuda
