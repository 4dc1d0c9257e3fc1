// The segments of one launch, passed by value in the kernel's parameters: no copy to the device, no
// allocation, and a captured graph keeps its own. Next: work_lookup.cuh finds a block's segment.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_WORK_TABLE_H_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_WORK_TABLE_H_

#include <cstdint>

namespace winnow::cuda {

// `Work` is one segment's share of a launch. Blocks [first_block[i], first_block[i + 1]) of the
// grid belong to work[i]. kCapacity 1 is the common case, and finding the segment costs nothing.
template <typename Work, int kCapacity>
struct WorkTable {
  int32_t count = 0;
  int32_t first_block[kCapacity] = {};
  Work work[kCapacity] = {};
};

// Parameters of a kernel fit 4,096 bytes on every architecture and driver.
inline constexpr int kMaxTableBytes = 4096 - 64;

template <typename Work>
inline constexpr int kTableCapacity = kMaxTableBytes / static_cast<int>(sizeof(Work) + 4);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_WORK_TABLE_H_
