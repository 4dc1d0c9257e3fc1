// Level-one keys of one row.

#ifndef WINNOW_KERNELS_CPU_BLOCK_KEYS_H_
#define WINNOW_KERNELS_CPU_BLOCK_KEYS_H_

#include <cstdint>

#include "kernels/cpu/row_kernels.h"
#include "kernels/cpu/select_row.h"
#include "kernels/cpu/worker_pool.h"

namespace winnow::cpu {

// Writes the keys of all blocks of the row, +inf for the last. `pool`: whose threads help; null:
// none.
void WriteBlockKeys(const RowKernels& kernels, const ScoreRow& row, int32_t block_size,
                    WorkerPool* pool, float* keys);

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_BLOCK_KEYS_H_
