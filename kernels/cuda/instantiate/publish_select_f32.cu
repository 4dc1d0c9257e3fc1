// Kernels of the fused selection of a publish for float32: rows of up to 4,096 and 16,384 blocks.

#include "kernels/cuda/launch/publish_select_kernels.cuh"

namespace winnow::cuda {

PublishSelectKernel PublishSelectKernelFloat32(int32_t max_results, bool few_blocks) {
  if (max_results == 512) {
    return few_blocks ? MakePublishSelectKernel<Float32Score, 512, 2, 2>()
                      : MakePublishSelectKernel<Float32Score, 512, 8, 8>();
  }
  return few_blocks ? MakePublishSelectKernel<Float32Score, kMaxK, 2, 2>()
                    : MakePublishSelectKernel<Float32Score, kMaxK, 8, 8>();
}

}  // namespace winnow::cuda
