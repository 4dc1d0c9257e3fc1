// The cluster's barrier and remote stores on the machine of tests/simt. Stands in for the header of
// this name.

#ifndef WINNOW_TESTS_SIMT_SHADOW_KERNELS_CUDA_PRIMITIVES_CLUSTER_MEMORY_CUH_
#define WINNOW_TESTS_SIMT_SHADOW_KERNELS_CUDA_PRIMITIVES_CLUSTER_MEMORY_CUH_

#include <cstdint>
#include <cstring>

#include "tests/simt/include/cuda_runtime.h"

namespace winnow::cuda {

// The machine has no barrier in two halves: all of it is in the wait.
inline void ClusterArrive() {}
inline void ClusterWait() { simt::WaitForCluster(); }

inline void StoreRemotePair(const void* local, uint32_t rank, uint32_t first, uint32_t second) {
  const uint32_t pair[2] = {first, second};
  std::memcpy(simt::SharedMemoryOf(rank, local), pair, sizeof(pair));
}
inline void StoreRemote(const uint32_t* local, uint32_t rank, uint32_t value) {
  std::memcpy(simt::SharedMemoryOf(rank, local), &value, sizeof(value));
}

}  // namespace winnow::cuda

#endif  // WINNOW_TESTS_SIMT_SHADOW_KERNELS_CUDA_PRIMITIVES_CLUSTER_MEMORY_CUH_
