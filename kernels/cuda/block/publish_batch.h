// What the fused selection of a publish is given. Plain data, passed by value as a kernel
// parameter.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_PUBLISH_BATCH_H_
#define WINNOW_KERNELS_CUDA_BLOCK_PUBLISH_BATCH_H_

#include <cstdint>

#include "kernels/cuda/block/topk_batch.h"

namespace winnow::cuda {

// Row r of `blocks` selects from the block maxima of row r of `tokens`.
struct PublishBatch {
  TopKBatch tokens;
  TopKBatch blocks;
  // Rows of more blocks, and of more than fit the list of the streaming kernel where that is it,
  // take their tokens from the blocks; they have block maxima, and more than twice as many as
  // tokens are wanted. The others are read.
  int32_t expand_above = 0;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_PUBLISH_BATCH_H_
