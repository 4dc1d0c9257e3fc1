// Kernels of the cluster route.

#include "kernels/cuda/kernel/topk_cluster.cuh"
#include "kernels/cuda/launch/topk_kernels.h"

namespace winnow::cuda {
namespace {

template <typename Score, int kMaxResults>
TopKKernels MakeClusterKernels() {
  using Shape = ScanShape<kMaxResults, 512, 4, kMaxResults <= 512 ? 2 : 1>;
  TopKKernels kernels;
  kernels.first = {TopKCluster<Score, Shape>, Shape::kThreads, sizeof(ClusterShared<Shape>)};
  kernels.capacity = Shape::kCapacity;
  return kernels;
}

}  // namespace

TopKKernels ClusterKernels(DType dtype, int32_t max_results) {
  if (dtype == DType::kBfloat16) {
    return max_results == 512 ? MakeClusterKernels<Bfloat16Score, 512>()
                              : MakeClusterKernels<Bfloat16Score, kMaxK>();
  }
  return max_results == 512 ? MakeClusterKernels<Float32Score, 512>()
                            : MakeClusterKernels<Float32Score, kMaxK>();
}

}  // namespace winnow::cuda
