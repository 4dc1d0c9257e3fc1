// What the policies need to know of a device: plain numbers, so that every policy is a pure
// function that a test calls without a GPU. CudaDevice fills it once, when it opens the device.

#ifndef WINNOW_KERNELS_CUDA_TUNING_DEVICE_TRAITS_H_
#define WINNOW_KERNELS_CUDA_TUNING_DEVICE_TRAITS_H_

#include <cstdint>

namespace winnow::cuda {

struct DeviceTraits {
  int32_t ordinal = 0;
  int32_t capability = 0;  // 10 * major + minor
  int32_t multiprocessors = 0;
  int32_t max_threads_per_multiprocessor = 0;
  int32_t shared_bytes_per_multiprocessor = 0;
  int32_t max_shared_bytes_per_block = 0;  // dynamic shared memory a kernel may opt in to
  int32_t reserved_shared_bytes_per_block = 0;
  int64_t l2_bytes = 0;
  bool dependent_launch = false;  // programmatic dependent launch exists
  int32_t max_cluster_size = 0;   // 0: no clusters
  // Clusters resident at once, as the driver answers for blocks of 1,024 threads; 0: none fits.
  int32_t clusters_of_8 = 0;         // one block on a multiprocessor
  int32_t clusters_of_8_shared = 0;  // two blocks on a multiprocessor
  int32_t clusters_of_16 = 0;        // one block on a multiprocessor
  int32_t clusters_of_16_shared = 0;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_TUNING_DEVICE_TRAITS_H_
