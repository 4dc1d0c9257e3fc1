// What block max is given of one segment.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_BLOCK_AMAX_WORK_H_
#define WINNOW_KERNELS_CUDA_BLOCK_BLOCK_AMAX_WORK_H_

#include <cstdint>

#include "kernels/cuda/primitives/small_divisor.h"
#include "winnow/kernels/segments.h"

namespace winnow::cuda {

// One segment of a launch. The caller sets the first three; the launch fills in the rest.
struct BlockAmaxWork {
  BlockAmaxSegment segment;
  // For a chain: a row that cannot be served by `pages` is empty as well, and window_lengths[row]
  // becomes the row's length, 0 where it is empty or at fault. Both may be absent.
  PageTransform pages;
  int32_t* window_lengths = nullptr;
  // Positions of the row's best `kept_blocks` blocks, its last block counted among them.
  int32_t* candidate_lengths = nullptr;
  int32_t kept_blocks = 0;

  SmallDivisor tiles_per_row;
  int32_t skip_at_most = 0;
  int32_t load_before_length = 0;  // bool
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_BLOCK_AMAX_WORK_H_
