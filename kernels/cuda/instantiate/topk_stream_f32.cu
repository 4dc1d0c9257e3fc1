// Kernels of the stream route for float32.

#include "kernels/cuda/launch/topk_scan_kernels.cuh"

namespace winnow::cuda {
namespace {

template <int kMaxResults>
TopKKernels KernelsOf(int32_t loads) {
  return loads == 8 ? MakeStreamKernels<Float32Score, DeepShape<kMaxResults>>()
                    : MakeStreamKernels<Float32Score, SharedShape<kMaxResults>>();
}

}  // namespace

TopKKernels StreamKernelsKeepingKeysFloat32(int32_t max_results, int32_t loads);

TopKKernels StreamKernelsFloat32(int32_t max_results, int32_t loads, bool keep_keys) {
  if (keep_keys) return StreamKernelsKeepingKeysFloat32(max_results, loads);
  return max_results == 512 ? KernelsOf<512>(loads) : KernelsOf<kMaxK>(loads);
}

}  // namespace winnow::cuda
