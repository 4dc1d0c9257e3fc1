#include <algorithm>

#include "kernels/cuda/kernel/sort_blocks.cuh"
#include "kernels/cuda/launch/for_each_table.h"
#include "kernels/cuda/launch/launch_kernel.h"
#include "kernels/cuda/launch/sort_blocks_launch.h"
#include "kernels/cuda/tuning/sort_blocks_policy.h"

namespace winnow::cuda {
namespace {

template <int kCapacity>
using SortBlocksFunction = void (*)(WorkTable<SortBlocksWork, kCapacity>, int32_t, int32_t, bool);

template <int kCapacity>
SortBlocksFunction<kCapacity> SortBlocksKernelFor(const SortBlocksPolicy& policy) {
  if (policy.threads == 1024) {
    return policy.bitmap_words == 1024 ? SortBlocksKernel<1024, 1024, kCapacity>
                                       : SortBlocksKernel<1024, 4096, kCapacity>;
  }
  return policy.bitmap_words == 1024 ? SortBlocksKernel<512, 1024, kCapacity>
                                     : SortBlocksKernel<512, 4096, kCapacity>;
}

// Most blocks that a row of the segment is believed to have; 0: unknown.
int64_t MaxBlocks(const SortBlocksSegment& segment, int32_t block_size) {
  const PageTransform& pages = segment.pages;
  int64_t positions = segment.max_length;
  if (segment.block_slots != nullptr) {
    const int64_t paged = static_cast<int64_t>(pages.table_columns) * pages.page_size;
    positions = positions == 0 ? paged : std::min(positions, paged);
  }
  return (positions + block_size - 1) / block_size;
}

// Log2 of a power of two.
int32_t ShiftOf(int32_t power) {
  int32_t shift = 0;
  while ((1 << shift) < power) ++shift;
  return shift;
}

}  // namespace

cudaError_t LaunchSortBlocks(const LaunchContext& context, const SortBlocksParams& params,
                             int64_t count, absl::FunctionRef<SortBlocksWork(int64_t)> work_of) {
  const int32_t block_shift = ShiftOf(params.block_size);
  const auto blocks_of = [](const SortBlocksWork& work) {
    return static_cast<int64_t>(work.segment.rows);
  };
  const auto launch = [&]<int kCapacity>(const WorkTable<SortBlocksWork, kCapacity>& table,
                                         int64_t rows) {
    int64_t max_blocks = 0;
    bool known = true;
    for (int32_t i = 0; i < table.count; ++i) {
      const int64_t blocks = MaxBlocks(table.work[i].segment, params.block_size);
      known = known && blocks > 0;
      max_blocks = std::max(max_blocks, blocks);
    }
    const SortBlocksPolicy policy =
        ChooseSortBlocksPolicy(context.traits, rows, known ? max_blocks : 0);
    return LaunchKernel(
        SortBlocksKernelFor<kCapacity>(policy),
        {.blocks = rows, .threads = policy.threads, .dependent = context.dependent_launch},
        context.stream, table, params.width, block_shift, policy.release_early);
  };
  return ForEachTable<SortBlocksWork>(count, work_of, blocks_of, launch);
}

}  // namespace winnow::cuda
