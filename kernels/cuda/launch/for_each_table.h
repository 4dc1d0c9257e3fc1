// Spreads segments over launches: one table each. More segments than a table holds take several.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_FOR_EACH_TABLE_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_FOR_EACH_TABLE_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>

#include "kernels/cuda/primitives/work_table.h"

namespace winnow::cuda {

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

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_FOR_EACH_TABLE_H_
