// Which segment of a launch a thread block works for.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_WORK_LOOKUP_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_WORK_LOOKUP_CUH_

#include <cstdint>

#include "kernels/cuda/primitives/work_table.h"

namespace winnow::cuda {

// Index of the segment that grid block `block` belongs to. The same for the whole block; the table
// is in constant memory, so that a step of the search is one uniform load.
template <typename Work, int kCapacity>
__device__ __forceinline__ int32_t FindWork(const WorkTable<Work, kCapacity>& table,
                                            int32_t block) {
  if constexpr (kCapacity == 1) return 0;
  int32_t low = 0;
  int32_t high = table.count;
  while (high - low > 1) {
    const int32_t middle = (low + high) / 2;
    if (table.first_block[middle] <= block) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_WORK_LOOKUP_CUH_
