// Scores as unsigned keys in the product's order: NaN of either sign smallest (key 0), then -inf to
// +inf, with -0 and +0 equal. One type per dtype; kernels are templates over it.
// Next: vector_load.cuh for how scores come out of memory.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_ORDERED_KEY_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_ORDERED_KEY_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "winnow/kernels/limits.h"

namespace winnow::cuda {

// Order-preserving image of the bits of a float32.
__device__ __forceinline__ uint32_t OrderedKey(uint32_t bits) {
  const float value = __uint_as_float(bits);
  const uint32_t signed_zero_free = __float_as_uint(value + 0.0f);  // -0 becomes +0
  const uint32_t flip = static_cast<uint32_t>(static_cast<int32_t>(signed_zero_free) >> 31);
  return value != value ? 0u : signed_zero_free ^ (flip | 0x80000000u);
}

// Bits of the float32 with this key; for a key above that of +inf, bits of a NaN.
__device__ __forceinline__ uint32_t BitsOfKey(uint32_t key) {
  return (key & 0x80000000u) != 0 ? key ^ 0x80000000u : ~key;
}

// Sets `bit` of `mask` when value >= threshold; false for NaN on either side. Assembly, because the
// compiler otherwise keeps one predicate per score alive and spends five instructions instead of 2.
__device__ __forceinline__ void SetBitIfAtLeast(uint32_t& mask, uint32_t value_bits,
                                                uint32_t threshold_bits, uint32_t bit) {
#ifdef __CUDA_ARCH__
  asm("{\n\t.reg .pred p;\n\tsetp.ge.f32 p, %1, %2;\n\t@p or.b32 %0, %0, %3;\n\t}"
      : "+r"(mask)
      : "f"(__uint_as_float(value_bits)), "f"(__uint_as_float(threshold_bits)), "r"(bit));
#else
  if (__uint_as_float(value_bits) >= __uint_as_float(threshold_bits)) mask |= bit;
#endif
}

struct Float32Score {
  using Bits = uint32_t;
  static constexpr int kPerVector = 4;  // scores in 16 bytes
  static constexpr int kPerWord = 1;
  static constexpr uint32_t kNegativeInfinityKey = 0x007fffffu;
  static constexpr uint32_t kPositiveInfinityKey = 0xff800000u;
  static constexpr int32_t kPadding = kPaddingIndex;  // of indices and slots

  static __device__ __forceinline__ uint32_t Key(uint32_t bits) { return OrderedKey(bits); }

  // Score `element` of a 16-byte vector.
  static __device__ __forceinline__ uint32_t Element(const uint32_t (&words)[4], int element) {
    return words[element];
  }

  // What AtLeastMask compares with, so that it accepts exactly the scores (NaN never) whose key is
  // at least `key`. No score passes when `key` is above that of +inf.
  static __device__ __forceinline__ uint32_t Threshold(uint32_t key) {
    return key <= kNegativeInfinityKey ? 0xff800000u : BitsOfKey(key);
  }

  // Adds to `mask` a bit for each of the word's scores that passes; TilePosition says for
  // which score a bit stands.
  static __device__ __forceinline__ void AtLeastMask(uint32_t& mask, uint32_t word, int word_index,
                                                     uint32_t threshold) {
    SetBitIfAtLeast(mask, word, threshold, 1u << word_index);
  }

  // Where the score of a mask bit lies, counted from the thread's first score, when the thread's
  // vectors are 32 vectors apart.
  static __device__ __forceinline__ int TilePosition(int bit) {
    return (bit >> 2) * (32 * kPerVector) + (bit & 3);
  }
};

// The maximum of a block of either dtype: what is selected are blocks.
struct BlockMaximumScore : Float32Score {
  static constexpr int32_t kPadding = kPaddingBlock;
};

// Keys have 16 bits: those of the float32 of the same value, without the lower half.
struct Bfloat16Score {
  using Bits = uint16_t;
  static constexpr int kPerVector = 8;
  static constexpr int kPerWord = 2;
  static constexpr uint32_t kNegativeInfinityKey = 0x007fu;
  static constexpr uint32_t kPositiveInfinityKey = 0xff80u;
  static constexpr int32_t kPadding = kPaddingIndex;

  static __device__ __forceinline__ uint32_t Key(uint32_t bits) {
    return OrderedKey(bits << 16) >> 16;
  }

  static __device__ __forceinline__ uint32_t Element(const uint32_t (&words)[4], int element) {
    const uint32_t word = words[element / 2];
    return element % 2 != 0 ? word >> 16 : word & 0xffffu;
  }

  static __device__ __forceinline__ uint32_t Threshold(uint32_t key) {
    const uint32_t bits =
        key <= kNegativeInfinityKey ? 0xff80u : ((key & 0x8000u) != 0 ? key ^ 0x8000u : ~key);
    return (bits & 0xffffu) | bits << 16;
  }

  // Bit word_index for the low score, word_index + 16 for the high one.
  static __device__ __forceinline__ void AtLeastMask(uint32_t& mask, uint32_t word, int word_index,
                                                     uint32_t threshold) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("{\n\t.reg .pred p, q;\n\tsetp.ge.bf16x2 p|q, %1, %2;\n\t@p or.b32 %0, %0, %3;\n\t"
        "@q or.b32 %0, %0, %4;\n\t}"
        : "+r"(mask)
        : "r"(word), "r"(threshold), "r"(1u << word_index), "r"(0x10000u << word_index));
#else
    SetBitIfAtLeast(mask, word << 16, threshold << 16, 1u << word_index);
    SetBitIfAtLeast(mask, word & 0xffff0000u, threshold & 0xffff0000u, 0x10000u << word_index);
#endif
  }

  static __device__ __forceinline__ int TilePosition(int bit) {
    const int word = bit & 15;
    return (word >> 2) * (32 * kPerVector) + 2 * (word & 3) + (bit >> 4);
  }
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_ORDERED_KEY_CUH_
