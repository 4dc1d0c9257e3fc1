#include "kernels/cuda/launch/block_amax_launch.h"

#include <cuda_bf16.h>

namespace winnow::cuda {

// Instantiated in instantiate/block_amax_*.cu.
template <typename Score>
cudaError_t LaunchBlockAmaxOf(const LaunchContext& context, const BlockAmaxParams& params,
                              int64_t count, absl::FunctionRef<BlockAmaxWork(int64_t)> work_of);

cudaError_t LaunchBlockAmax(const LaunchContext& context, const BlockAmaxParams& params,
                            int64_t count, absl::FunctionRef<BlockAmaxWork(int64_t)> work_of) {
  return params.dtype == DType::kBfloat16
             ? LaunchBlockAmaxOf<__nv_bfloat16>(context, params, count, work_of)
             : LaunchBlockAmaxOf<float>(context, params, count, work_of);
}

}  // namespace winnow::cuda
