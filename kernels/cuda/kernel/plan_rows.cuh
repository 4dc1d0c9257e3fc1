// Makes a plan from lengths in device memory. One thread block: a plan is a few thousand rows, and
// the pooled ones are listed in order.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_PLAN_ROWS_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_PLAN_ROWS_CUH_

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/primitives/dependent_launch.cuh"
#include "kernels/cuda/tuning/plan_rules.h"

namespace winnow::cuda {

inline constexpr int kPlanThreads = 1024;

// Exclusive rank of this thread among the threads of the block whose `flag` is set, and their
// number. All threads call it; two barriers inside.
__device__ __forceinline__ int32_t RankInBlock(bool flag, int32_t (&warp_counts)[kPlanThreads / 32],
                                               int32_t& total) {
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x / 32;
  const uint32_t set = __ballot_sync(0xffffffffu, flag);
  if (lane == 0) warp_counts[warp] = __popc(set);
  __syncthreads();
  const int32_t of_lane = warp_counts[lane];
  const int32_t earlier = __reduce_add_sync(0xffffffffu, lane < warp ? of_lane : 0);
  total = __reduce_add_sync(0xffffffffu, of_lane);
  __syncthreads();  // the counts are free for the next call
  return earlier + __popc(set & ((1u << lane) - 1));
}

// Threads: kPlanThreads. Grid: one block.
__global__ void __launch_bounds__(kPlanThreads)
    PlanRowsKernel(const __grid_constant__ PlanRules rules, const int32_t* lengths, int32_t rows,
                   std::byte* plan) {
  static_assert(kPlanThreads == 32 * 32);
  __shared__ int32_t warp_counts[kPlanThreads / 32];
  __shared__ int32_t route_rows[kRouteCount];
  __shared__ int32_t negative_rows;
  if (threadIdx.x < kRouteCount) route_rows[threadIdx.x] = 0;
  if (threadIdx.x == 0) negative_rows = 0;
  WaitForPredecessor();
  __syncthreads();
  auto* planned = reinterpret_cast<int32_t*>(plan + sizeof(PlanHeader));
  int32_t* pooled = planned + rows;
  int32_t pooled_count = 0;
  for (int32_t base = 0; base < rows; base += kPlanThreads) {
    const int32_t row = base + static_cast<int32_t>(threadIdx.x);
    const bool present = row < rows;
    const int32_t length = present ? lengths[row] : 0;
    const bool is_pooled = present && length > rules.effective_threshold;
    if (present) {
      planned[row] = length;
      atomicAdd(&route_rows[static_cast<int32_t>(RouteOf(rules, length))], 1);
      if (length < 0) atomicAdd(&negative_rows, 1);
    }
    int32_t in_pass = 0;
    const int32_t rank = RankInBlock(is_pooled, warp_counts, in_pass);
    if (is_pooled) pooled[pooled_count + rank] = row;
    pooled_count += in_pass;
  }
  for (int32_t i = pooled_count + static_cast<int32_t>(threadIdx.x); i < rows; i += kPlanThreads) {
    pooled[i] = -1;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  PlanHeader header = EmptyPlanHeader(rules, rows);
  header.pooled_row_count = pooled_count;
  header.negative_rows = negative_rows;
  for (int route = 0; route < kRouteCount; ++route) header.route_rows[route] = route_rows[route];
  *reinterpret_cast<PlanHeader*>(plan) = header;
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_PLAN_ROWS_CUH_
