// The shapes in which the fused selection of a publish is compiled. Included by
// instantiate/publish_*.cu only.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_PUBLISH_SELECT_KERNELS_CUH_
#define WINNOW_KERNELS_CUDA_LAUNCH_PUBLISH_SELECT_KERNELS_CUH_

#include "kernels/cuda/kernel/publish_select.cuh"
#include "kernels/cuda/kernel/publish_stream.cuh"
#include "kernels/cuda/launch/publish_select_launch.h"
#include "winnow/kernels/limits.h"

namespace winnow::cuda {

// Block maxima held in registers, kBlockLoads vectors a thread, or kListLoads where a row that is
// read may be of a type with more scores in a vector.
template <typename Score, int kMaxResults, int kBlockLoads, int kListLoads>
PublishSelectKernel MakePublishSelectKernel() {
  constexpr int kResident =
      kMaxResults <= 512 ? 2 : 1;  // two lists for many results leave room for one
  constexpr int kListCapacity = kMaxResults <= 512 ? 3072 : 6144;
  using Shape =
      PublishShape<ScanShape<kMaxK, 512, kBlockLoads, kResident, false, 6144>,
                   ScanShape<kMaxResults, 512, kListLoads, kResident, false, kListCapacity>,
                   ScanShape<kMaxResults, 512, 4, kResident, true>>;
  return {PublishSelect<Score, Shape>, Shape::kThreads, sizeof(PublishShared<Shape>)};
}

// One block on a multiprocessor: with two the kernel spills.
template <typename Score, int kMaxResults>
PublishSelectKernel MakePublishStreamKernel() {
  using Shape = PublishShape<ScanShape<kMaxK, 512, 4, 1>, ScanShape<kMaxResults, 512, 4, 1>,
                             ScanShape<kMaxResults, 512, 4, 1, true>>;
  return {PublishStream<Score, Shape>, Shape::kThreads, sizeof(PublishShared<Shape>)};
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_PUBLISH_SELECT_KERNELS_CUH_
