// Thread block clusters: barrier, rank, and stores into the shared memory of another block. Kernels
// that use them are launched with a cluster size only where capability 9.0 provides it; elsewhere
// these functions do nothing useful and must not be reached.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_CLUSTER_MEMORY_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_CLUSTER_MEMORY_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace winnow::cuda {

// Says that this thread has reached the cluster's barrier; what it wrote before, to any memory, is
// visible to the cluster after the wait. Whole warps call it.
__device__ __forceinline__ void ClusterArrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

// Waits until every thread of the cluster has arrived. Whole warps call it, after ClusterArrive.
__device__ __forceinline__ void ClusterWait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Stores to where `local`, a variable in shared memory, lies in the block of rank `rank`.
__device__ __forceinline__ void StoreRemote(const uint32_t* local, uint32_t rank, uint32_t value) {
#if __CUDA_ARCH__ >= 900
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(local));
  uint32_t remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote), "r"(value) : "memory");
#endif
}

// The same for a pair of words, 8-byte aligned.
__device__ __forceinline__ void StoreRemotePair(const void* local, uint32_t rank, uint32_t first,
                                                uint32_t second) {
#if __CUDA_ARCH__ >= 900
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(local));
  uint32_t remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(remote), "r"(first), "r"(second)
               : "memory");
#endif
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_CLUSTER_MEMORY_CUH_
