// A set of ids in shared memory that knows the rank of each member: one bit an id, and a running
// count of the bits before every fourth word. Inserting is one atomic, a rank is one 16-byte load
// and five popcounts, whatever the order of the ids.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_BLOCK_ID_BITMAP_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_BLOCK_ID_BITMAP_CUH_

#include <cstdint>

namespace winnow::cuda {

// Holds ids [0, kIds). All kThreads threads of the block call each of Clear, Scan; the others may
// be called by any thread. No function but Scan has a barrier: the caller puts one between Clear,
// Insert, Scan and Rank.
template <int kThreads, int kWords>
class BlockIdBitmap {
 public:
  static constexpr int32_t kIds = 32 * kWords;
  static constexpr int kGroups = kWords / 4;  // of four words, the unit of the scan

  struct Storage {
    uint4 groups[kGroups];
    uint16_t before[kGroups];  // members in earlier groups
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

  // Counts the bits before each group. Returns the number of members to every thread. One barrier
  // inside; the caller's next barrier makes the counts visible to Rank.
  __device__ __forceinline__ uint32_t Scan() {
    constexpr int kPerThread = kGroups >= kThreads ? kGroups / kThreads : 1;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x / 32;
    // A warp owns kPerThread runs of 32 groups, so that its loads touch no bank twice.
    const int first = warp * 32 * kPerThread + lane;
    uint32_t before[kPerThread];
    uint32_t warp_total = 0;
#pragma unroll
    for (int run = 0; run < kPerThread; ++run) {
      const int group = first + 32 * run;
      const uint32_t members = group < kGroups ? Members(storage_.groups[group]) : 0;
      uint32_t inclusive = members;
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2) {
        const uint32_t lower = __shfl_up_sync(0xffffffffu, inclusive, distance);
        if (lane >= distance) inclusive += lower;
      }
      before[run] = warp_total + inclusive - members;
      warp_total += __shfl_sync(0xffffffffu, inclusive, 31);
    }
    if (lane == 0) storage_.warp_sums[warp] = warp_total;
    __syncthreads();
    const uint32_t of_lane = lane < kThreads / 32 ? storage_.warp_sums[lane] : 0;
    const uint32_t earlier_warps = __reduce_add_sync(0xffffffffu, lane < warp ? of_lane : 0);
    const uint32_t total = __reduce_add_sync(0xffffffffu, of_lane);
#pragma unroll
    for (int run = 0; run < kPerThread; ++run) {
      const int group = first + 32 * run;
      if (group < kGroups) {
        storage_.before[group] = static_cast<uint16_t>(earlier_warps + before[run]);
      }
    }
    return total;
  }

  // Members below `id`, which is a member.
  __device__ __forceinline__ int32_t Rank(int32_t id) const {
    const int32_t group = id >> 7;
    const uint4 bits = storage_.groups[group];
    const int32_t word = (id >> 5) & 3;
    const uint32_t own = word == 0 ? bits.x : word == 1 ? bits.y : word == 2 ? bits.z : bits.w;
    uint32_t rank = storage_.before[group] + __popc(own & ((1u << (id & 31)) - 1));
    if (word > 0) rank += __popc(bits.x);
    if (word > 1) rank += __popc(bits.y);
    if (word > 2) rank += __popc(bits.z);
    return static_cast<int32_t>(rank);
  }

 private:
  static __device__ __forceinline__ uint32_t Members(const uint4& bits) {
    return __popc(bits.x) + __popc(bits.y) + __popc(bits.z) + __popc(bits.w);
  }

  Storage& storage_;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_BLOCK_ID_BITMAP_CUH_
