// What every top-k kernel is given: the requests that share the launch, the options, and the
// numbers that the policy chose. Plain data, passed by value as a kernel parameter. Next:
// topk_row.cuh for how a block finds its row in it.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_TOPK_BATCH_H_
#define WINNOW_KERNELS_CUDA_BLOCK_TOPK_BATCH_H_

#include <cstdint>

#include "winnow/kernels/operations.h"

namespace winnow::cuda {

// One survivor of a threshold: x is the score's key, y its position.
struct alignas(8) Candidate {
  uint32_t key;
  uint32_t position;
};

struct TopKBatch {
  // The request, when there is one: it travels in the parameters and costs no memory access.
  TopKSegment segment;
  // Several requests: a table in device memory, the first row of each within the launch, and the
  // segment of each row.
  const TopKSegment* segments = nullptr;
  const int32_t* first_rows = nullptr;
  const uint16_t* row_segments = nullptr;
  int32_t segment_count = 1;

  int32_t k = 0;
  int32_t dtype = 0;           // DType
  int32_t order = 0;           // Order, with kAny already turned into kPosition when deterministic
  bool deterministic = false;  // of equal scores the lowest positions win
  bool release_early = false;  // the next kernel of the stream may start while this one runs

  // Rows longer than it are shared by `split` blocks; the others are left to the first of them. A
  // segment with a plan uses the plan's threshold instead.
  int32_t pool_threshold = 0;
  int32_t split = 1;
  // Of a row shared by several blocks: survivors [rows, split, capacity] and their counts [rows,
  // split].
  Candidate* survivors = nullptr;
  uint32_t* survivor_counts = nullptr;
  // [rows]: the key of the plateau that the row's scan left out, 0 for none.
  uint32_t* plateaus = nullptr;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_TOPK_BATCH_H_
