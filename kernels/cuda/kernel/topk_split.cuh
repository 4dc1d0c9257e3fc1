// Top-k with a row shared by independent blocks: each scans its slice against the same sampled
// threshold and leaves its survivors in global memory; a second kernel, one block a row, selects
// among them. Two launches and no communication inside one: nothing spins, nothing has to be
// resident together, and no counter has to be zero beforehand. With programmatic dependent launch
// the second kernel's blocks wait on the multiprocessors already, which is cheaper than a ticket by
// which the last block of a row would find out that it is the last.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_TOPK_SPLIT_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_TOPK_SPLIT_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/finish_row.cuh"
#include "kernels/cuda/block/gather_survivors.cuh"
#include "kernels/cuda/block/scan_row.cuh"
#include "kernels/cuda/primitives/dependent_launch.cuh"
#include "kernels/cuda/primitives/shared_memory.cuh"

namespace winnow::cuda {

// Blocks that share a row of this window.
__device__ __forceinline__ int32_t PartsOf(const TopKBatch& batch, const RowWindow& window) {
  return window.length > window.pool_threshold ? batch.split : 1;
}

template <typename Shape>
struct SplitScanShared {
  ScanShared<Shape> scan;
  RowOutput unused;  // the second kernel opens the outputs
};

// batch.split blocks of Shape::kThreads for each row of the launch; k <= Shape::kMaxResults.
template <typename Score, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerMultiprocessor)
    TopKSplitScan(const __grid_constant__ TopKBatch batch) {
  auto& shared = DynamicShared<SplitScanShared<Shape>>();
  ClearScan(shared.scan);
  WaitForPredecessor();
  ReleaseSuccessor();  // the selecting kernel needs no more room than is left beside this one
  const int32_t launch_row = static_cast<int32_t>(blockIdx.x) / batch.split;
  const int32_t part = static_cast<int32_t>(blockIdx.x) % batch.split;
  const RowWindow window = OpenRow<Score>(batch, launch_row, false, shared.unused);
  const int32_t parts = PartsOf(batch, window);
  if (window.length <= batch.k || part >= parts) return;
  __syncthreads();
  const RowVectors<Score> row(window.scores, window.length);
  const uint32_t k = static_cast<uint32_t>(batch.k);
  Threshold threshold{Score::kNegativeInfinityKey};
  if (window.length > Shape::kCapacity) {
    threshold.key = SampleThreshold<Score, Shape::kThreads>(shared.scan.select.histogram, row, k);
  }
  const int32_t tiles = TileCount<Score, Shape>(row);
  const ScanResult result =
      ScanSlice<Score>(shared.scan, row, part * tiles / parts, (part + 1) * tiles / parts,
                       threshold, k, batch.deterministic);
  const int64_t list = static_cast<int64_t>(launch_row) * batch.split + part;
  Candidate* const survivors = batch.survivors + list * Shape::kCapacity;
  for (int32_t i = threadIdx.x; i < result.count; i += Shape::kThreads) {
    survivors[i] = shared.scan.candidates[i];
  }
  if (threadIdx.x == 0) batch.survivor_counts[list] = result.count;
}

template <typename Shape>
struct SplitSelectShared {
  GatherShared<Shape> gather;
  FinishShared<Shape::kMaxResults> finish;
};

// One block of Shape::kThreads for each row, after TopKSplitScan of the same batch and shape.
template <typename Score, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads)
    TopKSplitSelect(const __grid_constant__ TopKBatch batch) {
  auto& shared = DynamicShared<SplitSelectShared<Shape>>();
  ClearBins(shared.gather.select.histogram);
  WaitForPredecessor();
  if (batch.release_early) ReleaseSuccessor();
  const int32_t launch_row = static_cast<int32_t>(blockIdx.x);
  const RowWindow window = OpenRow<Score>(batch, launch_row, true, shared.finish.output);
  __syncthreads();
  if (window.length <= batch.k) {
    WriteShortRow<Score>(batch, shared.finish, shared.gather.select.histogram,
                         reinterpret_cast<uint64_t*>(shared.gather.candidates));
    return;
  }
  const int64_t list = static_cast<int64_t>(launch_row) * batch.split;
  const int32_t count = GatherSurvivors(shared.gather, batch.survivors + list * Shape::kCapacity,
                                        batch.survivor_counts + list, PartsOf(batch, window),
                                        static_cast<uint32_t>(batch.k), batch.deterministic);
  FinishRow<Score>(batch, shared.finish, shared.gather.select, shared.gather.candidates, count);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_TOPK_SPLIT_CUH_
