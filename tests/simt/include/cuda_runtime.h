// Stands in for CUDA's header of this name when kernels/cuda is compiled for the machine of
// tests/simt: the runtime functions that the library calls, over host memory. Every operation is
// complete when its call returns. Next: ../fake_runtime.cc.

#ifndef WINNOW_TESTS_SIMT_INCLUDE_CUDA_RUNTIME_H_
#define WINNOW_TESTS_SIMT_INCLUDE_CUDA_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/simt/device_functions.h"
#include "tests/simt/machine.h"

enum cudaError_t {
  cudaSuccess,
  cudaErrorMemoryAllocation,
  cudaErrorInvalidValue,
  cudaErrorNotReady,
  cudaErrorNoKernelImageForDevice,
  cudaErrorInvalidDeviceFunction,
  cudaErrorInvalidClusterSize,
  cudaErrorNoDevice,
  cudaErrorInvalidDevice,
  cudaErrorInsufficientDriver,
  cudaErrorInitializationError,
  cudaErrorSystemNotReady,
  cudaErrorSystemDriverMismatch,
  cudaErrorCompatNotSupportedOnDevice,
  cudaErrorDevicesUnavailable,
  cudaErrorDeviceNotLicensed,
  cudaErrorMpsConnectionFailed,
  cudaErrorMpsRpcFailure,
  cudaErrorMpsServerNotReady,
  cudaErrorMpsMaxClientsReached,
  cudaErrorMpsMaxConnectionsReached,
  cudaErrorUnsupportedPtxVersion,
  cudaErrorStubLibrary,
  cudaErrorIllegalAddress,
  cudaErrorLaunchFailure,
  cudaErrorLaunchTimeout,
  cudaErrorAssert,
  cudaErrorHardwareStackError,
  cudaErrorIllegalInstruction,
  cudaErrorMisalignedAddress,
  cudaErrorInvalidAddressSpace,
  cudaErrorInvalidPc,
  cudaErrorECCUncorrectable,
  cudaErrorNvlinkUncorrectable,
  cudaErrorContextIsDestroyed,
  cudaErrorMpsClientTerminated,
  cudaErrorExternalDevice,
  cudaErrorContained,
  cudaErrorTensorMemoryLeak,
  cudaErrorCudartUnloading,
};
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

struct dim3 {
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}  // NOLINT: as CUDA's
  unsigned x, y, z;
};

using cudaStream_t = struct FakeStream*;
using cudaEvent_t = struct FakeEvent*;

struct cudaDeviceProp {
  char name[256];
  int major;
  int minor;
  size_t totalGlobalMem;
};
enum cudaDeviceAttr {
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrComputeCapabilityMinor,
  cudaDevAttrL2CacheSize,
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrMaxThreadsPerMultiProcessor,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrReservedSharedMemoryPerBlock,
  cudaDevAttrClusterLaunch,
  cudaDevAttrMpsEnabled,
};
enum cudaMemcpyKind { cudaMemcpyDefault };
inline constexpr unsigned cudaHostAllocPortable = 1;
inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventBlockingSync = 1;

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDevice(int* ordinal);
cudaError_t cudaSetDevice(int ordinal);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal);
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest);

cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);

enum cudaLaunchAttributeID {
  cudaLaunchAttributeClusterDimension,
  cudaLaunchAttributeProgrammaticStreamSerialization,
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    dim3 clusterDim;
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
struct cudaFuncAttributes {};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize,
  cudaFuncAttributeNonPortableClusterSizeAllowed,
};
template <typename Function>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, Function*) {
  return cudaSuccess;
}
namespace winnow::simt {
cudaError_t AllowSharedBytes(int bytes);
}  // namespace winnow::simt
template <typename Function>
cudaError_t cudaFuncSetAttribute(Function*, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  return winnow::simt::AllowSharedBytes(value);
}

namespace winnow::simt {
uint32_t ClusterBlocks(const cudaLaunchConfig_t& config);
cudaError_t MaxActiveClusters(int* clusters, const cudaLaunchConfig_t& config);
}  // namespace winnow::simt

template <typename Function>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Function*,
                                           const cudaLaunchConfig_t* config) {
  return winnow::simt::MaxActiveClusters(clusters, *config);
}

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const std::tuple<std::decay_t<Parameters>...> parameters(std::forward<Arguments>(arguments)...);
  winnow::simt::RunGrid({.blocks = config->gridDim.x,
                         .threads = config->blockDim.x,
                         .cluster_blocks = winnow::simt::ClusterBlocks(*config),
                         .shared_bytes = config->dynamicSmemBytes},
                        [&] { std::apply(kernel, parameters); });
  return cudaSuccess;
}

#endif  // WINNOW_TESTS_SIMT_INCLUDE_CUDA_RUNTIME_H_
