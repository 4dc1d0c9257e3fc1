// Kernels of the fused selection of a publish for float32: rows of any length.

#include "kernels/cuda/launch/publish_select_kernels.cuh"

namespace winnow::cuda {

PublishSelectKernel PublishStreamKernelFloat32(int32_t max_results) {
  return max_results == 512 ? MakePublishStreamKernel<Float32Score, 512>()
                            : MakePublishStreamKernel<Float32Score, kMaxK>();
}

}  // namespace winnow::cuda
