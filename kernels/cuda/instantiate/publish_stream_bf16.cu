// Kernels of the fused selection of a publish for bfloat16: rows of any length.

#include "kernels/cuda/launch/publish_select_kernels.cuh"

namespace winnow::cuda {

PublishSelectKernel PublishStreamKernelBfloat16(int32_t max_results) {
  return max_results == 512 ? MakePublishStreamKernel<Bfloat16Score, 512>()
                            : MakePublishStreamKernel<Bfloat16Score, kMaxK>();
}

}  // namespace winnow::cuda
