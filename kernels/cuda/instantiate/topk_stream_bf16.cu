// Kernels of the stream route for bfloat16.

#include "kernels/cuda/launch/topk_scan_kernels.cuh"

namespace winnow::cuda {

TopKKernels StreamKernelsBfloat16(int32_t max_results) {
  return max_results == 512 ? MakeStreamKernels<Bfloat16Score, SharedShape<512>>()
                            : MakeStreamKernels<Bfloat16Score, SharedShape<kMaxK>>();
}

}  // namespace winnow::cuda
