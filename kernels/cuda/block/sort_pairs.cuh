// A block sorts up to kMaxK 64-bit items in shared memory.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_SORT_PAIRS_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_SORT_PAIRS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/primitives/thread_index.cuh"

namespace winnow::cuda {

// Sorts items[0, size) ascending; `size` is a power of two. All threads call it after a barrier
// that follows the last write; ends with a barrier.
template <int kThreads>
__device__ __forceinline__ void SortPairs(uint64_t* items, int32_t size) {
  for (int32_t span = 2; span <= size; span *= 2) {
    for (int32_t stride = span / 2; stride > 0; stride /= 2) {
      for (int32_t pair = ThreadIndex(); pair < size / 2; pair += kThreads) {
        const int32_t first = 2 * pair - (pair & (stride - 1));
        const int32_t second = first + stride;
        const bool ascending = (first & span) == 0;
        const uint64_t a = items[first];
        const uint64_t b = items[second];
        if ((a > b) == ascending) {
          items[first] = b;
          items[second] = a;
        }
      }
      __syncthreads();
    }
  }
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_SORT_PAIRS_CUH_
