// Top-k with a row shared by the blocks of a cluster: each scans its slice against the same sampled
// threshold and pushes its survivors into the shared memory of the first block, which selects. One
// kernel, one exchange; for few rows, whose time is a chain of latencies.
// Next: block/scan_row.cuh, block/gather_survivors.cuh and block/finish_row.cuh.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_TOPK_CLUSTER_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_TOPK_CLUSTER_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/finish_row.cuh"
#include "kernels/cuda/block/gather_survivors.cuh"
#include "kernels/cuda/block/scan_row.cuh"
#include "kernels/cuda/primitives/cluster_memory.cuh"
#include "kernels/cuda/primitives/dependent_launch.cuh"
#include "kernels/cuda/primitives/kernel_parameters.cuh"
#include "kernels/cuda/primitives/shared_memory.cuh"

namespace winnow::cuda {

template <typename Shape>
struct ClusterShared {
  ScanShared<Shape> scan;
  PartsShared parts;                        // of the first block: written by all
  Candidate inbox[Shape::kCapacity];        // of the first block: an equal share for each part
  FinishShared<Shape::kMaxResults> finish;  // of the first block
};

// Leaves this block's survivors for the first block of the cluster: in its inbox, or in global
// memory when its share of the inbox does not hold them (equal scores in plenty). All threads call
// it.
template <typename Shape>
__device__ __forceinline__ void PushSurvivors(ClusterShared<Shape>& shared, Candidate* overflow,
                                              int32_t count, int32_t part, int32_t slots) {
  for (int32_t i = ThreadIndex(); i < count; i += Shape::kThreads) {
    const Candidate candidate = shared.scan.candidates[i];
    if (count <= slots) {
      StoreRemotePair(&shared.inbox[part * slots + i], 0, candidate.key, candidate.position);
    } else {
      overflow[i] = candidate;
    }
  }
  if (ThreadIndex() == 0) {
    StoreRemote(&shared.parts.counts[part], 0, static_cast<uint32_t>(count));
  }
}

// A cluster of batch.split blocks of Shape::kThreads for each row of the launch; k <=
// Shape::kMaxResults.
template <typename Score, typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocksPerMultiprocessor)
    TopKCluster(const __grid_constant__ TopKBatch batch) {
  auto& shared = DynamicShared<ClusterShared<Shape>>();
  ClusterArrive();  // the wait before the push makes sure that the first block has started
  ClearScan(shared.scan);
  if (ThreadIndex() == 0) shared.finish.plateau = 0;
  TouchParameters(batch);
  WaitForPredecessor();
  if (batch.release_early) ReleaseSuccessor();
  const int32_t launch_row = static_cast<int32_t>(blockIdx.x) / batch.split;
  const int32_t part = static_cast<int32_t>(blockIdx.x) % batch.split;
  const OpenedRow opened = OpenRow<Score>(batch, launch_row, part == 0);
  const RowWindow& window = opened.window;
  if (part == 0 && threadIdx.x == 0) FillOutput<Score>(batch, opened, shared.finish.output);
  __syncthreads();
  if (window.length <= batch.k) {
    ClusterWait();
    if (part != 0) return;
    WriteShortRow<Score>(batch, shared.finish, shared.scan.select.histogram,
                         reinterpret_cast<uint64_t*>(shared.scan.candidates));
    return;
  }
  const int32_t parts = PartsOf(batch, window);
  const uint32_t k = static_cast<uint32_t>(batch.k);
  int32_t count = 0;
  if (part < parts) {
    const RowVectors<Score> row(window.scores, window.length);
    Threshold threshold{Score::kNegativeInfinityKey};
    if (window.length > Shape::kCapacity) {
      threshold.key = SampleThreshold(shared.scan.select.histogram, row, k, Shape::kCapacity,
                                      [&](uint32_t key) { shared.finish.plateau = key; });
    }
    const int32_t tiles = TileCount<Score, Shape>(row);
    count = ScanSlice<Score>(shared.scan, row, part * tiles / parts, (part + 1) * tiles / parts,
                             threshold, k, batch.deterministic);
  }
  const int32_t slots = Shape::kCapacity / parts;
  Candidate* const lists =
      batch.survivors + static_cast<int64_t>(launch_row) * batch.split * Shape::kCapacity;
  ClusterWait();
  if (part < parts) {
    PushSurvivors(shared, lists + static_cast<int64_t>(part) * Shape::kCapacity, count, part,
                  slots);
  }
  ClusterArrive();
  ClusterWait();
  if (part != 0) return;
  const int32_t gathered = GatherSurvivors<Shape>(
      shared.scan.select, shared.parts, shared.scan.candidates, parts, k, batch.deterministic,
      [slots, lists, inbox = &shared.inbox[0]](int32_t from, uint32_t in_list) -> const Candidate* {
        return in_list <= static_cast<uint32_t>(slots)
                   ? inbox + from * slots
                   : lists + static_cast<int64_t>(from) * Shape::kCapacity;
      });
  FinishRow<Score, true>(batch, shared.finish, shared.scan.select, shared.scan.candidates,
                         gathered);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_TOPK_CLUSTER_CUH_
