// The body of LaunchBlockAmax for one dtype; instantiate/block_amax_*.cu holds one dtype each, so
// that they build side by side.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_BLOCK_AMAX_LAUNCH_CUH_
#define WINNOW_KERNELS_CUDA_LAUNCH_BLOCK_AMAX_LAUNCH_CUH_

#include "kernels/cuda/kernel/block_amax.cuh"
#include "kernels/cuda/launch/block_amax_launch.h"
#include "kernels/cuda/launch/for_each_table.h"
#include "kernels/cuda/launch/launch_kernel.h"

namespace winnow::cuda {

template <typename Score, int kCapacity>
using BlockAmaxFunction = void (*)(WorkTable<BlockAmaxWork, kCapacity>);

template <typename Score, int kCapacity>
BlockAmaxFunction<Score, kCapacity> BlockAmaxKernelFor(int32_t block_size) {
  switch (block_size) {
    case 2:
      return BlockAmaxKernel<Score, 2, kCapacity>;
    case 4:
      return BlockAmaxKernel<Score, 4, kCapacity>;
    case 8:
      return BlockAmaxKernel<Score, 8, kCapacity>;
    case 16:
      return BlockAmaxKernel<Score, 16, kCapacity>;
    case 32:
      return BlockAmaxKernel<Score, 32, kCapacity>;
    case 64:
      return BlockAmaxKernel<Score, 64, kCapacity>;
    case 128:
      return BlockAmaxKernel<Score, 128, kCapacity>;
  }
  return nullptr;  // CheckBlockAmax lets no other size pass; launching null reports an error
}

template <typename Score>
cudaError_t LaunchBlockAmaxOf(const LaunchContext& context, const BlockAmaxParams& params,
                              int64_t count, absl::FunctionRef<BlockAmaxWork(int64_t)> work_of) {
  const auto prepared = [&](int64_t i) {
    BlockAmaxWork work = work_of(i);
    static_assert(kMaxColumns / kAmaxTile<Score> <= SmallDivisor::kMaxDivisor);
    work.tiles_per_row = SmallDivisor::Of((work.segment.columns - 1) / kAmaxTile<Score> + 1);
    work.skip_at_most = params.skip_at_most;
    // Two blocks a multiprocessor start at once: what they read in vain is hidden behind latency.
    work.load_before_length =
        static_cast<int64_t>(work.segment.rows) * work.tiles_per_row.divisor <=
        2 * context.traits.multiprocessors;
    return work;
  };
  const auto blocks_of = [](const BlockAmaxWork& work) {
    return static_cast<int64_t>(work.segment.rows) * work.tiles_per_row.divisor;
  };
  const auto launch = [&]<int kCapacity>(const WorkTable<BlockAmaxWork, kCapacity>& table,
                                         int64_t blocks) {
    return LaunchKernel(
        BlockAmaxKernelFor<Score, kCapacity>(params.block_size),
        {.blocks = blocks, .threads = kAmaxThreads, .dependent = context.dependent_launch},
        context.stream, table);
  };
  return ForEachTable<BlockAmaxWork>(count, prepared, blocks_of, launch);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_BLOCK_AMAX_LAUNCH_CUH_
