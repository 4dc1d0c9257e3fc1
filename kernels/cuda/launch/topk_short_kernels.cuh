// The shapes in which the short route is compiled, and the way from a shape to its kernels.
// Included by instantiate/topk_short_*.cu only.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_TOPK_SHORT_KERNELS_CUH_
#define WINNOW_KERNELS_CUDA_LAUNCH_TOPK_SHORT_KERNELS_CUH_

#include "kernels/cuda/kernel/topk_short.cuh"
#include "kernels/cuda/launch/topk_kernels.h"

namespace winnow::cuda {

template <typename Score, int kMaxResults, int kLoads>
TopKKernels MakeShortKernels() {
  // A sampled threshold leaves at most about 1.8 times kMaxResults. What is far beyond that are
  // equal scores, and better left out than sorted.
  constexpr int kCapacity = kMaxResults <= 512 ? 3072 : 6144;
  using Shape = ScanShape<kMaxResults, 512, kLoads, 2, false, kCapacity>;
  TopKKernels kernels;
  kernels.first = {TopKShort<Score, Shape>, Shape::kThreads, sizeof(RowShared<Shape>)};
  return kernels;
}

// Each thread holds `loads` vectors: one of kFew, kSome and kMany.
template <typename Score, int kFew, int kSome, int kMany>
TopKKernels MakeShortKernelsFor(int32_t max_results, int32_t loads) {
  const bool few_results = max_results == 512;
  if (loads <= kFew) {
    return few_results ? MakeShortKernels<Score, 512, kFew>()
                       : MakeShortKernels<Score, kMaxK, kFew>();
  }
  if (loads <= kSome) {
    return few_results ? MakeShortKernels<Score, 512, kSome>()
                       : MakeShortKernels<Score, kMaxK, kSome>();
  }
  return few_results ? MakeShortKernels<Score, 512, kMany>()
                     : MakeShortKernels<Score, kMaxK, kMany>();
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_TOPK_SHORT_KERNELS_CUH_
