// Kernels of the split route for bfloat16.

#include "kernels/cuda/launch/topk_scan_kernels.cuh"

namespace winnow::cuda {

TopKKernels SplitKernelsBfloat16(int32_t max_results) {
  return max_results == 512 ? MakeSplitKernels<Bfloat16Score, SharedShape<512>>()
                            : MakeSplitKernels<Bfloat16Score, SharedShape<kMaxK>>();
}

}  // namespace winnow::cuda
