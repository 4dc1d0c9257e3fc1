// Kernels of the fused selection of a publish for float32.

#include "kernels/cuda/launch/publish_select_kernels.cuh"

namespace winnow::cuda {

PublishSelectKernel PublishSelectKernelFloat32(int32_t max_results, bool few_blocks) {
  return MakePublishSelectKernelFor<Float32Score, 8>(max_results, few_blocks);
}

}  // namespace winnow::cuda
