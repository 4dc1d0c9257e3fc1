// What the block sort is given of one segment.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_SORT_BLOCKS_WORK_H_
#define WINNOW_KERNELS_CUDA_BLOCK_SORT_BLOCKS_WORK_H_

#include "winnow/kernels/segments.h"

namespace winnow::cuda {

// One segment of a launch.
struct SortBlocksWork {
  SortBlocksSegment segment;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_SORT_BLOCKS_WORK_H_
