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
#include "kernels/cuda/primitives/kernel_parameters.cuh"
#include "kernels/cuda/primitives/shared_memory.cuh"

namespace winnow::cuda {

// batch.split blocks of Shape::kThreads for each row of the launch; k <= Shape::kMaxResults.
template <typename Score, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerMultiprocessor)
    TopKSplitScan(const __grid_constant__ TopKBatch batch) {
  auto& shared = DynamicShared<ScanShared<Shape>>();
  ClearScan(shared);
  TouchParameters(batch);
  WaitForPredecessor();
  ReleaseSuccessor();  // the selecting kernel needs no more room than is left beside this one
  const int32_t launch_row = static_cast<int32_t>(blockIdx.x) / batch.split;
  const int32_t part = static_cast<int32_t>(blockIdx.x) % batch.split;
  const RowWindow window = OpenRow<Score>(batch, launch_row, false).window;
  const int32_t parts = PartsOf(batch, window);
  if (part == 0 && ThreadIndex() == 0) batch.plateaus[launch_row] = 0;
  if (window.length <= batch.k || part >= parts) {
    if (ThreadIndex() == 0) batch.survivor_counts[blockIdx.x] = 0;
    return;
  }
  __syncthreads();
  const RowVectors<Score> row(window.scores, window.length);
  const uint32_t k = static_cast<uint32_t>(batch.k);
  Threshold threshold{Score::kNegativeInfinityKey};
  if (window.length > Shape::kCapacity) {
    threshold.key =
        SampleThreshold(shared.select.histogram, row, k, Shape::kCapacity, [&](uint32_t key) {
          if (part == 0) batch.plateaus[launch_row] = key;
        });
  }
  const int32_t tiles = TileCount<Score, Shape>(row);
  const int32_t count =
      ScanSlice<Score>(shared, row, part * tiles / parts, (part + 1) * tiles / parts, threshold, k,
                       batch.deterministic);
  Candidate* const survivors =
      batch.survivors + static_cast<int64_t>(blockIdx.x) * Shape::kCapacity;
  for (int32_t i = ThreadIndex(); i < count; i += Shape::kThreads) {
    survivors[i] = shared.candidates[i];
  }
  if (ThreadIndex() == 0) batch.survivor_counts[blockIdx.x] = count;
}

template <typename Shape>
struct SplitSelectShared {
  Candidate candidates[Shape::kCapacity];
  SelectShared<Shape::kThreads> select;
  PartsShared parts;
  FinishShared<Shape::kMaxResults> finish;
};

// One block of Shape::kThreads for each row, after TopKSplitScan of the same batch and shape.
template <typename Score, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads)
    TopKSplitSelect(const __grid_constant__ TopKBatch batch) {
  auto& shared = DynamicShared<SplitSelectShared<Shape>>();
  ClearBins(shared.select.histogram);
  TouchParameters(batch);
  WaitForPredecessor();
  if (batch.release_early) ReleaseSuccessor();
  const int32_t launch_row = static_cast<int32_t>(blockIdx.x);
  const int64_t first_list = static_cast<int64_t>(launch_row) * batch.split;
  // Also the counts of parts that the row turns out not to have: they wait for memory together with
  // its length.
  if (ThreadIndex() < batch.split) {
    shared.parts.counts[ThreadIndex()] = batch.survivor_counts[first_list + ThreadIndex()];
  }
  if (ThreadIndex() == Shape::kThreads - 1) shared.finish.plateau = batch.plateaus[launch_row];
  const OpenedRow opened = OpenRow<Score>(batch, launch_row, true);
  const RowWindow& window = opened.window;
  if (threadIdx.x == 0) FillOutput<Score>(batch, opened, shared.finish.output);
  __syncthreads();
  if (window.length <= batch.k) {
    WriteShortRow<Score>(batch, shared.finish, shared.select.histogram,
                         reinterpret_cast<uint64_t*>(shared.candidates));
    return;
  }
  const Candidate* const lists = batch.survivors + first_list * Shape::kCapacity;
  const int32_t count = GatherSurvivors<Shape>(
      shared.select, shared.parts, shared.candidates, PartsOf(batch, window),
      static_cast<uint32_t>(batch.k), batch.deterministic, [lists](int32_t part, uint32_t) {
        return lists + static_cast<int64_t>(part) * Shape::kCapacity;
      });
  FinishRow<Score, true>(batch, shared.finish, shared.select, shared.candidates, count);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_TOPK_SPLIT_CUH_
