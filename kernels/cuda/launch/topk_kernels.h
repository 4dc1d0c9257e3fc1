// The compiled top-k kernels, one function per route. Instantiated in instantiate/topk_*.cu; this
// header is all that the launch sees of them.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_TOPK_KERNELS_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_TOPK_KERNELS_H_

#include <cstdint>

#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/tuning/topk_policy.h"

namespace winnow::cuda {

struct TopKKernel {
  void (*function)(TopKBatch) = nullptr;
  int32_t threads = 0;       // of a block
  int32_t shared_bytes = 0;  // dynamic
};

// What a route launches. `second` follows on the same stream, one block a row; null for most.
struct TopKKernels {
  TopKKernel first;
  TopKKernel second;
  int32_t capacity = 0;  // survivors that each block of a shared row may leave
};

TopKKernels ExactKernels(DType dtype);
// max_results 512 or 2048; loads 2, 4 or 8 for float32, 1, 2 or 4 for bfloat16.
TopKKernels ShortKernels(DType dtype, int32_t max_results, int32_t loads);
// max_results 512 or 2048; loads 4, or 8 for float32. keep_keys: see ScanShape.
TopKKernels StreamKernels(DType dtype, int32_t max_results, int32_t loads, bool keep_keys);
TopKKernels SplitKernels(DType dtype, int32_t max_results, int32_t loads);
TopKKernels ClusterKernels(DType dtype, int32_t max_results);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_TOPK_KERNELS_H_
