// Warp-wide sums and reservations. All 32 lanes call every function here.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_WARP_SCAN_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_WARP_SCAN_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/primitives/thread_index.cuh"

namespace winnow::cuda {

inline constexpr uint32_t kAllLanes = 0xffffffffu;

// Sum over this lane and those below it.
__device__ __forceinline__ uint32_t WarpInclusiveSum(uint32_t value) {
#ifdef __CUDA_ARCH__
  // The shuffle's own predicate guards the addition: two instructions a step.
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    asm("{\n\t.reg .pred p;\n\t.reg .u32 t;\n\tshfl.sync.up.b32 t|p, %0, %1, 0, 0xffffffff;\n\t"
        "@p add.u32 %0, %0, t;\n\t}"
        : "+r"(value)
        : "r"(distance));
  }
#else
  for (int distance = 1; distance < 32; distance *= 2) {
    const uint32_t below = __shfl_up_sync(kAllLanes, value, distance);
    if ((ThreadIndex() & 31) >= static_cast<unsigned>(distance)) value += below;
  }
#endif
  return value;
}

// Bits of the lanes below this one.
__device__ __forceinline__ uint32_t LanesBelow() { return (1u << (ThreadIndex() & 31)) - 1u; }

// Takes a place from `counter` for each lane that wants one, with a single atomic addition. The
// places of a warp follow each other in lane order. Undefined where `wanted` is false.
__device__ __forceinline__ uint32_t WarpReserve(uint32_t* counter, bool wanted) {
  const uint32_t lanes = __ballot_sync(kAllLanes, wanted);
  uint32_t first = 0;
  if ((ThreadIndex() & 31) == 0 && lanes != 0) {
    first = atomicAdd(counter, static_cast<uint32_t>(__popc(lanes)));
  }
  return __shfl_sync(kAllLanes, first, 0) + static_cast<uint32_t>(__popc(lanes & LanesBelow()));
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_WARP_SCAN_CUH_
