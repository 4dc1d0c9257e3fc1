// The shapes in which the scanning routes are compiled, and the way from one shape to its kernels.
// Included by instantiate/topk_stream_*.cu and topk_split_*.cu only.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_TOPK_SCAN_KERNELS_CUH_
#define WINNOW_KERNELS_CUDA_LAUNCH_TOPK_SCAN_KERNELS_CUH_

#include "kernels/cuda/kernel/topk_split.cuh"
#include "kernels/cuda/kernel/topk_stream.cuh"
#include "kernels/cuda/launch/topk_kernels.h"

namespace winnow::cuda {

// Two blocks on a multiprocessor.
template <int kMaxResults, bool kKeepsKeys = false>
using SharedShape = ScanShape<kMaxResults, 512, 4, 2, kKeepsKeys>;
// One, with twice the loads in flight.
template <int kMaxResults, bool kKeepsKeys = false>
using DeepShape = ScanShape<kMaxResults, 512, 8, 1, kKeepsKeys>;

// A split row has a multiprocessor for each of its blocks.
template <int kMaxResults>
using SliceShape = ScanShape<kMaxResults, 512, 4, 1>;

template <typename Score, typename Shape>
TopKKernels MakeStreamKernels() {
  TopKKernels kernels;
  kernels.first = {TopKStream<Score, Shape>, Shape::kThreads, sizeof(RowShared<Shape>)};
  return kernels;
}

// The selecting kernel sees only the capacity of the scan's shape, so both shapes use the same one.
template <typename Score, typename Shape>
TopKKernels MakeSplitKernels() {
  using SelectShape = SharedShape<Shape::kMaxResults>;
  static_assert(SelectShape::kCapacity == Shape::kCapacity);
  TopKKernels kernels;
  kernels.first = {TopKSplitScan<Score, Shape>, Shape::kThreads, sizeof(ScanShared<Shape>)};
  kernels.second = {TopKSplitSelect<Score, SelectShape>, SelectShape::kThreads,
                    sizeof(SplitSelectShared<SelectShape>)};
  kernels.capacity = Shape::kCapacity;
  return kernels;
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_TOPK_SCAN_KERNELS_CUH_
