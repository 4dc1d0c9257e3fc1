// Kernels of the fused selection of a publish for bfloat16. Rows that are read hold twice as many
// scores in a register, and a mask has a bit for each.

#include "kernels/cuda/launch/publish_select_kernels.cuh"

namespace winnow::cuda {

PublishSelectKernel PublishSelectKernelBfloat16(int32_t max_results, bool few_blocks) {
  return MakePublishSelectKernelFor<Bfloat16Score, 4>(max_results, few_blocks);
}

}  // namespace winnow::cuda
