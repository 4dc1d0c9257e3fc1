// A set of ids in shared memory that knows the rank of each member: one bit an id, and the number
// of bits before each word. Inserting is one atomic, a rank is two loads and a popcount, whatever
// the order of the ids.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_BLOCK_ID_BITMAP_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_BLOCK_ID_BITMAP_CUH_

#include <cstdint>

#include "kernels/cuda/primitives/warp_scan.cuh"

namespace winnow::cuda {

// Holds ids [0, kIds). All kThreads threads of the block call each of Clear, Scan; the others may
// be called by any thread. No function but Scan has a barrier: the caller puts one between Clear,
// Insert, Scan and Rank.
template <int kThreads, int kWords>
class BlockIdBitmap {
 public:
  static constexpr int32_t kIds = 32 * kWords;
  static constexpr int kGroups =
      kWords / 4;  // of four words: what a thread clears and scans at once

  struct Storage {
    uint4 groups[kGroups];
    uint2 before[kGroups];  // members before each word of the group, 16 bits a word
    uint32_t warp_sums[kThreads / 32];
  };

  __device__ explicit BlockIdBitmap(Storage& storage) : storage_(storage) {}

  __device__ __forceinline__ void Clear() {
    for (int group = threadIdx.x; group < kGroups; group += kThreads) {
      storage_.groups[group] = make_uint4(0, 0, 0, 0);
    }
  }

  __device__ __forceinline__ void Insert(int32_t id) {
    atomicOr(reinterpret_cast<uint32_t*>(storage_.groups) + (id >> 5), 1u << (id & 31));
  }

  // Counts the bits before each word. Returns the number of members to every thread. One barrier
  // inside; the caller's next barrier makes the counts visible to Rank.
  __device__ __forceinline__ uint32_t Scan() {
    constexpr int kRuns = kGroups >= kThreads ? kGroups / kThreads : 1;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x / 32;
    // A warp owns kRuns runs of 32 groups, so that its loads touch no bank twice. A small bitmap
    // leaves some warps without.
    const int first = warp * 32 * kRuns + lane;
    uint2 inside[kRuns];  // members of the group before each of its words
    uint32_t before[kRuns];
    uint32_t warp_total = 0;
    if (warp * 32 * kRuns < kGroups) {
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const uint4 bits = storage_.groups[first + 32 * run];
        const uint32_t one = __popc(bits.x);
        const uint32_t two = one + __popc(bits.y);
        const uint32_t three = two + __popc(bits.z);
        const uint32_t members = three + __popc(bits.w);
        inside[run] = make_uint2(one << 16, two | three << 16);
        const uint32_t inclusive = WarpInclusiveSum(members);
        before[run] = warp_total + inclusive - members;
        warp_total += __shfl_sync(kAllLanes, inclusive, 31);
      }
    }
    if (lane == 0) storage_.warp_sums[warp] = warp_total;
    __syncthreads();
    const uint32_t of_lane = lane < kThreads / 32 ? storage_.warp_sums[lane] : 0;
    const uint32_t total = __reduce_add_sync(kAllLanes, of_lane);
    if (warp * 32 * kRuns < kGroups) {
      const uint32_t earlier = __reduce_add_sync(kAllLanes, lane < warp ? of_lane : 0);
#pragma unroll
      for (int run = 0; run < kRuns; ++run) {
        const uint32_t both = (earlier + before[run]) * 0x10001u;
        storage_.before[first + 32 * run] = make_uint2(inside[run].x + both, inside[run].y + both);
      }
    }
    return total;
  }

  // Members below `id`, which is a member.
  __device__ __forceinline__ int32_t Rank(int32_t id) const {
    const int32_t word = id >> 5;
    const uint32_t bits = reinterpret_cast<const uint32_t*>(storage_.groups)[word];
    const uint32_t before = reinterpret_cast<const uint16_t*>(storage_.before)[word];
    return static_cast<int32_t>(before + __popc(bits & ((1u << (id & 31)) - 1)));
  }

 private:
  Storage& storage_;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_BLOCK_ID_BITMAP_CUH_
