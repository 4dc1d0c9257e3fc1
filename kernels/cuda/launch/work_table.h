// The segments of one launch, passed by value in the kernel's parameters: no copy to the device, no
// allocation, and a captured graph keeps its own. More segments than a table holds take several
// launches. primitives/work_lookup.cuh finds a block's segment.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_WORK_TABLE_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_WORK_TABLE_H_

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <limits>

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

// Splits `count` segments into launches. `work_of(i)` gives segment i's Work, `blocks_of(work)` the
// blocks it needs (at most 2^31 - 1), `launch(table, blocks)` enqueues one table. The first error
// ends the loop.
template <typename Work, typename WorkOf, typename BlocksOf, typename Launch>
cudaError_t ForEachTable(int64_t count, WorkOf work_of, BlocksOf blocks_of, Launch launch) {
  if (count == 1) {
    WorkTable<Work, 1> table;
    table.count = 1;
    table.work[0] = work_of(0);
    return launch(table, blocks_of(table.work[0]));
  }
  constexpr int kCapacity = kTableCapacity<Work>;
  WorkTable<Work, kCapacity> table;
  int64_t blocks = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Work work = work_of(i);
    const int64_t more = blocks_of(work);
    if (table.count == kCapacity || blocks + more > std::numeric_limits<int32_t>::max()) {
      if (cudaError_t error = launch(table, blocks); error != cudaSuccess) return error;
      table.count = 0;
      blocks = 0;
    }
    table.first_block[table.count] = static_cast<int32_t>(blocks);
    table.work[table.count++] = work;
    blocks += more;
  }
  return table.count == 0 ? cudaSuccess : launch(table, blocks);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_WORK_TABLE_H_
