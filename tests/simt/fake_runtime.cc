// The runtime functions of include/cuda_runtime.h: one device with the figures of an H100-class
// GPU, so that the policies choose as they do there.

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "tests/simt/include/cuda_runtime.h"
#include "tests/simt/machine.h"

struct FakeStream {};
struct FakeEvent {
  std::chrono::steady_clock::time_point recorded;
};

namespace {
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t Result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t Allocate(void** memory, size_t bytes) {
  constexpr size_t kMemoryBytes = size_t{4} << 30;  // of the device
  *memory = bytes <= kMemoryBytes ? std::aligned_alloc(256, (bytes + 255) / 256 * 256) : nullptr;
  return Result(*memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

int SharedBytesOfBlock() { return static_cast<int>(winnow::simt::MaxSharedBytes()); }
}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaErrorOfTheSimulation";
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
cudaError_t cudaGetDevice(int* ordinal) {
  *ordinal = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int ordinal) {
  return Result(ordinal == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {.name = "simulated", .major = 9, .minor = 0, .totalGlobalMem = size_t{4} << 30};
  return cudaSuccess;
}

cudaError_t winnow::simt::AllowSharedBytes(int bytes) {
  return bytes <= SharedBytesOfBlock() ? cudaSuccess : Result(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrL2CacheSize:
      *value = 50 << 20;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = 132;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = SharedBytesOfBlock() + (1 << 10);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = SharedBytesOfBlock();
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = 1 << 10;
      break;
    case cudaDevAttrClusterLaunch:
      *value = 1;
      break;
    case cudaDevAttrMpsEnabled:
      *value = 0;
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t bytes) { return Allocate(memory, bytes); }
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) { return Allocate(memory, bytes); }
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memmove(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t) {
  if (width > to_pitch || width > from_pitch) return Result(cudaErrorInvalidValue);
  for (size_t row = 0; row < height; ++row) {
    std::memmove(static_cast<char*>(to) + row * to_pitch,
                 static_cast<const char*>(from) + row * from_pitch, width);
  }
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = new FakeStream;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new FakeEvent;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->recorded = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds =
      std::chrono::duration<float, std::milli>(stop->recorded - start->recorded).count();
  return cudaSuccess;
}

namespace winnow::simt {

uint32_t ClusterBlocks(const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) {
      return config.attrs[i].val.clusterDim.x;
    }
  }
  return 1;
}

cudaError_t MaxActiveClusters(int* clusters, const cudaLaunchConfig_t& config) {
  // As the driver answers on an H100-class GPU, whose partitions have up to 16 multiprocessors.
  const int of_16 = config.dynamicSmemBytes > (114 << 10) ? 7 : 14;
  *clusters = ClusterBlocks(config) == 16 ? of_16 : 2 * of_16 + (of_16 == 7 ? 1 : 2);
  return cudaSuccess;
}

}  // namespace winnow::simt
