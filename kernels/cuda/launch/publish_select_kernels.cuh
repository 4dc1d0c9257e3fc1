// The shapes in which the fused selection of a publish is compiled. Included by
// instantiate/publish_select_*.cu only.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_PUBLISH_SELECT_KERNELS_CUH_
#define WINNOW_KERNELS_CUDA_LAUNCH_PUBLISH_SELECT_KERNELS_CUH_

#include "kernels/cuda/kernel/publish_select.cuh"
#include "kernels/cuda/launch/publish_select_launch.h"
#include "winnow/kernels/limits.h"

namespace winnow::cuda {

template <typename Score, int kMaxResults, int kBlockLoads, int kListLoads>
PublishSelectKernel MakePublishSelectKernel() {
  constexpr bool kFewResults = kMaxResults <= 512;
  constexpr int kResident = kFewResults ? 2 : 1;
  using Shape = PublishShape<
      ScanShape<kMaxK, 512, kBlockLoads, kResident, false, 6144>,
      ScanShape<kMaxResults, 512, kListLoads, kResident, false, kFewResults ? 3072 : 6144>,
      ScanShape<kMaxResults, 512, 4, kResident, true>>;
  return {PublishSelect<Score, Shape>, Shape::kThreads, sizeof(PublishShared<Shape>)};
}

// `few_blocks`: rows have at most 4,096.
template <typename Score, int kListLoads>
PublishSelectKernel MakePublishSelectKernelFor(int32_t max_results, bool few_blocks) {
  if (max_results == 512) {
    return few_blocks ? MakePublishSelectKernel<Score, 512, 2, 2>()
                      : MakePublishSelectKernel<Score, 512, 8, kListLoads>();
  }
  return few_blocks ? MakePublishSelectKernel<Score, kMaxK, 2, 2>()
                    : MakePublishSelectKernel<Score, kMaxK, 8, kListLoads>();
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_PUBLISH_SELECT_KERNELS_CUH_
