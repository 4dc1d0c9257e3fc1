#include <algorithm>

#include "kernels/cuda/launch/occupancy_probe.h"

namespace winnow::cuda {
namespace {

// Never launched: the driver answers for its launch configuration.
__global__ void OccupancyProbe() {}

#define WINNOW_RETURN_IF_CUDA_ERROR(expression)                               \
  do {                                                                        \
    if (cudaError_t error = (expression); error != cudaSuccess) return error; \
  } while (false)

cudaError_t ReadAttribute(cudaDeviceAttr attribute, int32_t ordinal, int32_t& value) {
  return cudaDeviceGetAttribute(&value, attribute, ordinal);
}

cudaError_t ReadLimits(DeviceTraits& traits) {
  const int32_t ordinal = traits.ordinal;
  int32_t major = 0;
  int32_t minor = 0;
  int32_t l2_bytes = 0;
  const struct {
    cudaDeviceAttr attribute;
    int32_t& value;
  } limits[] = {
      {cudaDevAttrComputeCapabilityMajor, major},
      {cudaDevAttrComputeCapabilityMinor, minor},
      {cudaDevAttrL2CacheSize, l2_bytes},
      {cudaDevAttrMultiProcessorCount, traits.multiprocessors},
      {cudaDevAttrMaxThreadsPerMultiProcessor, traits.max_threads_per_multiprocessor},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, traits.shared_bytes_per_multiprocessor},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, traits.max_shared_bytes_per_block},
      {cudaDevAttrReservedSharedMemoryPerBlock, traits.reserved_shared_bytes_per_block},
  };
  for (const auto& limit : limits) {
    WINNOW_RETURN_IF_CUDA_ERROR(ReadAttribute(limit.attribute, ordinal, limit.value));
  }
  traits.capability = 10 * major + minor;
  traits.l2_bytes = l2_bytes;
  traits.dependent_launch = traits.capability >= 90;
  return cudaSuccess;
}

// Widest cluster the device accepts: 8 everywhere that has clusters, 16 where a kernel may ask.
cudaError_t ReadMaxClusterSize(DeviceTraits& traits) {
  int32_t has_clusters = 0;
  WINNOW_RETURN_IF_CUDA_ERROR(
      ReadAttribute(cudaDevAttrClusterLaunch, traits.ordinal, has_clusters));
  traits.max_cluster_size = 0;
  if (has_clusters == 0) return cudaSuccess;
  for (int32_t size : {16, 8}) {
    traits.max_cluster_size = size;
    int32_t clusters = 0;
    WINNOW_RETURN_IF_CUDA_ERROR(ResidentClusters(traits, size, 1, clusters));
    if (clusters > 0) return cudaSuccess;
  }
  traits.max_cluster_size = 0;
  return cudaSuccess;
}

}  // namespace

cudaError_t ResidentClusters(const DeviceTraits& traits, int32_t cluster_size,
                             int32_t blocks_per_sm, int32_t& clusters) {
  clusters = 0;
  if (cluster_size > traits.max_cluster_size) return cudaSuccess;
  WINNOW_RETURN_IF_CUDA_ERROR(
      cudaFuncSetAttribute(OccupancyProbe, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  const int32_t share = traits.shared_bytes_per_multiprocessor / blocks_per_sm;
  const int32_t shared_bytes = std::clamp(share - traits.reserved_shared_bytes_per_block, 0,
                                          traits.max_shared_bytes_per_block) /
                               128 * 128;
  // The same value from every thread, so that probes may run at once.
  WINNOW_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(OccupancyProbe,
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   traits.max_shared_bytes_per_block));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(cluster_size), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(cluster_size));
  config.blockDim = dim3(static_cast<unsigned>(
      std::clamp(traits.max_threads_per_multiprocessor / blocks_per_sm / 32 * 32, 32, 1024)));
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config.attrs = &attribute;
  config.numAttrs = 1;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, OccupancyProbe, &config);
  // The driver's way to say that no cluster of this width can exist.
  if (error == cudaErrorInvalidClusterSize) {
    cudaGetLastError();
    clusters = 0;
    return cudaSuccess;
  }
  return error;
}

cudaError_t ReadDeviceTraits(DeviceTraits& traits) {
  cudaFuncAttributes attributes = {};
  WINNOW_RETURN_IF_CUDA_ERROR(cudaFuncGetAttributes(&attributes, OccupancyProbe));
  WINNOW_RETURN_IF_CUDA_ERROR(ReadLimits(traits));
  WINNOW_RETURN_IF_CUDA_ERROR(ReadMaxClusterSize(traits));
  WINNOW_RETURN_IF_CUDA_ERROR(ResidentClusters(traits, 8, 1, traits.clusters_of_8));
  WINNOW_RETURN_IF_CUDA_ERROR(ResidentClusters(traits, 8, 2, traits.clusters_of_8_shared));
  WINNOW_RETURN_IF_CUDA_ERROR(ResidentClusters(traits, 16, 1, traits.clusters_of_16));
  return ResidentClusters(traits, 16, 2, traits.clusters_of_16_shared);
}

#undef WINNOW_RETURN_IF_CUDA_ERROR

}  // namespace winnow::cuda
