#include <algorithm>

#include "kernels/cuda/launch/launch_kernel.h"
#include "kernels/cuda/primitives/dependent_launch.cuh"
#include "tests/bench/cuda/bench_kernels.h"

namespace winnow::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1056;  // eight a multiprocessor on 132

__device__ uint64_t Mix(uint64_t value) {
  value = (value + 1) * 0x9e3779b97f4a7c15ull;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

__device__ float ScoreAt(int64_t index, Data data, uint32_t seed) {
  const uint64_t bits = Mix(static_cast<uint64_t>(index) ^ (uint64_t{seed} << 32));
  const float u = (static_cast<uint32_t>(bits) >> 8) * 0x1p-24f + 0x1p-25f;
  const float v = (static_cast<uint32_t>(bits >> 32) >> 8) * 0x1p-24f;
  const float normal = sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
  switch (data) {
    case Data::kNormal:
      return normal;
    case Data::kRelu:
      return fmaxf(normal - 1.2816f, 0.0f);  // nine in ten are zero
    case Data::kNarrow:
      return 1.0f + 0.01f * v;
    case Data::kEqual:
      return 1.0f;
    case Data::kRamp:
      return static_cast<float>(index & 65535);
    case Data::kText:
      break;  // read, not made
  }
  return 0.0f;
}

__global__ void FillKernel(uint32_t* words, int64_t count, bool bfloat16, Data data,
                           uint32_t seed) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    if (bfloat16) {
      const uint32_t low = __float_as_uint(ScoreAt(2 * i, data, seed)) >> 16;
      words[i] = low | (__float_as_uint(ScoreAt(2 * i + 1, data, seed)) & 0xffff0000u);
    } else {
      words[i] = __float_as_uint(ScoreAt(i, data, seed));
    }
  }
}

__global__ void FillTextKernel(float* scores, int64_t count, const float* text, int64_t period) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    scores[i] = text[i % period];
  }
}

__global__ void FillPagesKernel(int32_t* pages, int64_t count, int32_t limit) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    pages[i] = static_cast<int32_t>(Mix(i + 77) % static_cast<uint32_t>(limit));
  }
}

// Scrambles the low `bits` bits of `value`; every value has one image.
__device__ uint32_t Permute(uint32_t value, int bits, uint32_t key) {
  const uint32_t mask = (1u << bits) - 1;
  for (int round = 0; round < 3; ++round) {
    value = (value * 0x9e3779b1u + key) & mask;
    value ^= value >> (bits / 2);
  }
  return value;
}

__global__ void FillBlockIdsKernel(int32_t* ids, int32_t width, int32_t blocks) {
  const int bits = 31 - __clz(blocks);
  const auto key = static_cast<uint32_t>(Mix(blockIdx.x));
  for (int32_t column = threadIdx.x; column < width; column += blockDim.x) {
    ids[int64_t{blockIdx.x} * width + column] = static_cast<int32_t>(Permute(column, bits, key));
  }
}

__device__ uint32_t Fold(const uint4& v) { return v.x ^ v.y ^ v.z ^ v.w; }

__global__ void FlushKernel(const uint4* buffer, int64_t count, int32_t* sink) {
  uint32_t folded = 0;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    folded ^= Fold(buffer[i]);
  }
  if (folded == 0x12345677u) *sink = 1;
}

__global__ void ProduceKernel(uint4* scores, const uint4* source, int64_t count) {
  constexpr int64_t kMask = kProducerSourceBytes / 16 - 1;
  cuda::WaitForPredecessor();
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    scores[i] = source[i & kMask];
  }
}

__device__ uint4 LoadOnce(const uint4* address) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address));
  return v;
}

// Each thread reads kVectors vectors at a time; the grid strides over the buffer.
template <int kVectors>
__global__ void __launch_bounds__(kThreads)
    FloorKernel(const uint4* in, int64_t read_vectors, uint4* out, int64_t write_vectors,
                int32_t* sink) {
  cuda::ReleaseSuccessor();
  cuda::WaitForPredecessor();
  const int64_t stride = int64_t{gridDim.x} * kThreads * kVectors;
  uint32_t folded = 0;
  for (int64_t first = int64_t{blockIdx.x} * kThreads * kVectors + threadIdx.x;
       first < read_vectors; first += stride) {
    uint4 v[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      v[i] = first + i * kThreads < read_vectors ? LoadOnce(in + first + i * kThreads)
                                                 : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < kVectors; ++i) folded ^= Fold(v[i]);
  }
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < write_vectors;
       i += int64_t{gridDim.x} * kThreads) {
    out[i] = make_uint4(folded, folded, folded, folded);
  }
  if (folded == 0x12345677u) *sink = 1;
}

template <int kVectors>
cudaError_t LaunchFloor(cudaStream_t stream, bool dependent, int64_t max_blocks, const void* in,
                        int64_t read_bytes, void* out, int64_t write_bytes, int32_t* sink) {
  const int64_t read_vectors = read_bytes / 16;
  const int64_t write_vectors = write_bytes / 16;
  const int64_t tiles = (std::max(read_vectors, write_vectors) - 1) / (kThreads * kVectors) + 1;
  return cuda::LaunchKernel(
      FloorKernel<kVectors>,
      {.blocks = std::min(tiles, max_blocks), .threads = kThreads, .dependent = dependent}, stream,
      static_cast<const uint4*>(in), read_vectors, static_cast<uint4*>(out), write_vectors, sink);
}

}  // namespace

const char* Name(Data data) {
  switch (data) {
    case Data::kNormal:
      return "normal";
    case Data::kRelu:
      return "relu";
    case Data::kNarrow:
      return "narrow";
    case Data::kEqual:
      return "equal";
    case Data::kRamp:
      return "ramp";
    case Data::kText:
      return "text";
  }
  return "unknown";
}

cudaError_t FillScores(cudaStream_t stream, void* scores, int64_t bytes, DType dtype, Data data,
                       uint32_t seed) {
  FillKernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<uint32_t*>(scores), bytes / 4,
                                               dtype == DType::kBfloat16, data, seed);
  return cudaGetLastError();
}

cudaError_t FillText(cudaStream_t stream, float* scores, int64_t bytes, const float* text,
                     int64_t count) {
  FillTextKernel<<<kBlocks, kThreads, 0, stream>>>(scores, bytes / 4, text, count);
  return cudaGetLastError();
}

cudaError_t FillPages(cudaStream_t stream, int32_t* pages, int64_t count, int32_t limit) {
  FillPagesKernel<<<kBlocks, kThreads, 0, stream>>>(pages, count, limit);
  return cudaGetLastError();
}

cudaError_t FillBlockIds(cudaStream_t stream, int32_t* ids, int32_t rows, int32_t width,
                         int32_t blocks) {
  FillBlockIdsKernel<<<rows, kThreads, 0, stream>>>(ids, width, blocks);
  return cudaGetLastError();
}

cudaError_t Flush(cudaStream_t stream, const void* buffer, int64_t bytes, int32_t* sink) {
  FlushKernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const uint4*>(buffer), bytes / 16,
                                                sink);
  return cudaGetLastError();
}

cudaError_t Produce(cudaStream_t stream, void* scores, const void* source, int64_t bytes) {
  const int64_t blocks = std::min<int64_t>(kBlocks, (bytes / 16 - 1) / kThreads + 1);
  return cuda::LaunchKernel(ProduceKernel, {.blocks = blocks, .threads = kThreads}, stream,
                            static_cast<uint4*>(scores), static_cast<const uint4*>(source),
                            bytes / 16);
}

cudaError_t Floor(cudaStream_t stream, int shape, bool dependent, const void* in,
                  int64_t read_bytes, void* out, int64_t write_bytes, int32_t* sink) {
  constexpr int64_t kOneTileEach = int64_t{1} << 30;
  switch (shape) {
    case 0:
      return LaunchFloor<2>(stream, dependent, kOneTileEach, in, read_bytes, out, write_bytes,
                            sink);
    case 1:
      return LaunchFloor<4>(stream, dependent, kOneTileEach, in, read_bytes, out, write_bytes,
                            sink);
    case 2:
      return LaunchFloor<4>(stream, dependent, kBlocks, in, read_bytes, out, write_bytes, sink);
    default:
      return LaunchFloor<8>(stream, dependent, kBlocks, in, read_bytes, out, write_bytes, sink);
  }
}

}  // namespace winnow::bench
