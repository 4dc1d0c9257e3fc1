// Kernels of the fused selection of a publish for bfloat16: rows of up to 4,096 and 16,384 blocks.
// Rows that are read hold twice as many scores in a register, and a mask has a bit for each.

#include "kernels/cuda/launch/publish_select_kernels.cuh"

namespace winnow::cuda {

PublishSelectKernel PublishSelectKernelBfloat16(int32_t max_results, bool few_blocks) {
  if (max_results == 512) {
    return few_blocks ? MakePublishSelectKernel<Bfloat16Score, 512, 2, 2>()
                      : MakePublishSelectKernel<Bfloat16Score, 512, 8, 4>();
  }
  return few_blocks ? MakePublishSelectKernel<Bfloat16Score, kMaxK, 2, 2>()
                    : MakePublishSelectKernel<Bfloat16Score, kMaxK, 8, 4>();
}

}  // namespace winnow::cuda
