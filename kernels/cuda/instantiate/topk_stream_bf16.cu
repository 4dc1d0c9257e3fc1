// Kernels of the stream route for bfloat16.

#include "kernels/cuda/launch/topk_scan_kernels.cuh"

namespace winnow::cuda {
namespace {

template <int kMaxResults>
TopKKernels KernelsOf(bool keep_keys) {
  return keep_keys ? MakeStreamKernels<Bfloat16Score, SharedShape<kMaxResults, true>>()
                   : MakeStreamKernels<Bfloat16Score, SharedShape<kMaxResults>>();
}

}  // namespace

TopKKernels StreamKernelsBfloat16(int32_t max_results, bool keep_keys) {
  return max_results == 512 ? KernelsOf<512>(keep_keys) : KernelsOf<kMaxK>(keep_keys);
}

}  // namespace winnow::cuda
