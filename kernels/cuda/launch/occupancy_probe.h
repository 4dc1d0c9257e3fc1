// Asks the driver what fits on a device. Next: tuning/device_traits.h for what is kept of it.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_OCCUPANCY_PROBE_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_OCCUPANCY_PROBE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/tuning/device_traits.h"

namespace winnow::cuda {

// Fills every field of `traits` for the current device, `traits.ordinal` excepted, which it reads.
// cudaErrorNoKernelImageForDevice when this build has no code for the device.
cudaError_t ReadDeviceTraits(DeviceTraits& traits);

// Clusters of `cluster_size` blocks resident at once on the current device when `blocks_per_sm`
// blocks share a multiprocessor's threads and shared memory evenly. Clusters must fit inside a
// GPC, so only the driver can tell. 0 when none fits.
cudaError_t ResidentClusters(const DeviceTraits& traits, int32_t cluster_size,
                             int32_t blocks_per_sm, int32_t& clusters);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_OCCUPANCY_PROBE_H_
