// The CPU device's operations, one file each: topk.cc, block_amax.cc, sort_blocks.cc, publish.cc.
// Each has passed its checks; rows are shared among the pool's threads, and the calls return when
// all is written. Thread-safe.

#ifndef WINNOW_KERNELS_CPU_ENGINE_H_
#define WINNOW_KERNELS_CPU_ENGINE_H_

#include "absl/types/span.h"
#include "kernels/cpu/row_kernels.h"
#include "kernels/cpu/worker_pool.h"
#include "winnow/kernels/operations.h"

namespace winnow::cpu {

// What every operation needs of the device.
struct Engine {
  const RowKernels& kernels;
  WorkerPool& pool;
};

void RunTopK(const Engine& engine, const TopKParams& params,
             absl::Span<const TopKSegment> segments);

void RunBlockAmax(const Engine& engine, const BlockAmaxParams& params,
                  absl::Span<const BlockAmaxSegment> segments);

void RunSortBlocks(const Engine& engine, const SortBlocksParams& params,
                   absl::Span<const SortBlocksSegment> segments);

void RunPublish(const Engine& engine, const PublishParams& params,
                absl::Span<const PublishSegment> segments);

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_ENGINE_H_
