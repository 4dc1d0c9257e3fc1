// Scores of either dtype, read sixteen bytes at a time.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_SCORE_VECTOR_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_SCORE_VECTOR_CUH_

#include <cuda_bf16.h>

#include <cstdint>

namespace winnow::cuda {

__device__ __forceinline__ float Infinity() { return __uint_as_float(0x7f800000u); }

// `Score` is float or __nv_bfloat16.
template <typename Score>
inline constexpr int kScoresPerVector = 16 / static_cast<int>(sizeof(Score));

// Streamed: scores are read once, so that L1 keeps none of them.
__device__ __forceinline__ uint4 LoadStreamed16(const void* address) {
  uint4 words;
#ifdef __CUDA_ARCH__
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
      : "l"(address));
#else
  words = *static_cast<const uint4*>(address);
#endif
  return words;
}

// The largest of `kCount` adjacent scores that start at score `kFirst` of a vector. NaNs are
// ignored; NaN when there is nothing else.
template <typename Score, int kFirst, int kCount>
__device__ __forceinline__ float MaxOf(const uint4& vector) {
  const uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
  if constexpr (sizeof(Score) == 4) {
    float largest = __uint_as_float(words[kFirst]);
#pragma unroll
    for (int i = 1; i < kCount; ++i) {
      largest = fmaxf(largest, __uint_as_float(words[kFirst + i]));
    }
    return largest;
  } else {
    static_assert(kFirst % 2 == 0 && kCount % 2 == 0);
    constexpr int kWord = kFirst / 2;
    __nv_bfloat162 largest = reinterpret_cast<const __nv_bfloat162&>(words[kWord]);
#pragma unroll
    for (int i = 1; i < kCount / 2; ++i) {
      largest = __hmax2(largest, reinterpret_cast<const __nv_bfloat162&>(words[kWord + i]));
    }
    const uint32_t pair = reinterpret_cast<const uint32_t&>(largest);
    return fmaxf(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
  }
}

// The vector whose first score is at `scores`: element by element, NaN from the `count`-th on. For
// rows that are not aligned and for the end of a row.
template <typename Score>
__device__ __forceinline__ uint4 LoadPartVector(const Score* scores, int32_t count) {
  uint32_t words[4] = {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu};  // NaN of either type
#pragma unroll
  for (int i = 0; i < kScoresPerVector<Score>; ++i) {
    if (i >= count) break;
    if constexpr (sizeof(Score) == 4) {
      words[i] = __ldg(reinterpret_cast<const uint32_t*>(scores) + i);
    } else {
      const uint32_t bits = __ldg(reinterpret_cast<const uint16_t*>(scores) + i);
      words[i / 2] = i % 2 == 0 ? (words[i / 2] & 0xffff0000u) | bits
                                : (words[i / 2] & 0x0000ffffu) | bits << 16;
    }
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_SCORE_VECTOR_CUH_
