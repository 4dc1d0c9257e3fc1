#include "kernels/cuda/launch/block_amax_launch.cuh"

namespace winnow::cuda {

template cudaError_t LaunchBlockAmaxOf<float>(const LaunchContext&, const BlockAmaxParams&, int64_t,
                                              absl::FunctionRef<BlockAmaxWork(int64_t)>);

}  // namespace winnow::cuda
