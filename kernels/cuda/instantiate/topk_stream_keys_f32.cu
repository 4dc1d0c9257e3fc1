// Kernels of the stream route for float32 that take keys as scores pass.

#include "kernels/cuda/launch/topk_scan_kernels.cuh"

namespace winnow::cuda {
namespace {

template <int kMaxResults>
TopKKernels KernelsOf(int32_t loads) {
  return loads == 8 ? MakeStreamKernels<Float32Score, DeepShape<kMaxResults, true>>()
                    : MakeStreamKernels<Float32Score, SharedShape<kMaxResults, true>>();
}

}  // namespace

TopKKernels StreamKernelsKeepingKeysFloat32(int32_t max_results, int32_t loads) {
  return max_results == 512 ? KernelsOf<512>(loads) : KernelsOf<kMaxK>(loads);
}

}  // namespace winnow::cuda
