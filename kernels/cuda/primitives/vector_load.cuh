// A row of scores as aligned 16-byte vectors, whatever the alignment of the row. No access leaves
// the row: vectors that it fills only partly are put together from single loads.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_VECTOR_LOAD_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_VECTOR_LOAD_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace winnow::cuda {

struct alignas(16) Vector16 {
  uint32_t words[4];
};

// Read-only data that is read once: keeps out of L1. `address` is 16-byte aligned.
__device__ __forceinline__ Vector16 LoadStreaming(const void* address) {
  Vector16 vector;
#ifdef __CUDA_ARCH__
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(vector.words[0]), "=r"(vector.words[1]), "=r"(vector.words[2]),
                 "=r"(vector.words[3])
               : "l"(address));
#else
  vector = *static_cast<const Vector16*>(address);
#endif
  return vector;
}

// As LoadStreaming, but kept in L1.
__device__ __forceinline__ Vector16 LoadReused(const void* address) {
  Vector16 vector;
#ifdef __CUDA_ARCH__
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(vector.words[0]), "=r"(vector.words[1]), "=r"(vector.words[2]),
                 "=r"(vector.words[3])
               : "l"(address));
#else
  vector = *static_cast<const Vector16*>(address);
#endif
  return vector;
}

// Asks for `bytes` (a multiple of 16) at a 16-byte aligned address to be brought into L2. A hint.
__device__ __forceinline__ void PrefetchToL2(const void* address, uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(address), "r"(bytes) : "memory");
#endif
}

// The scores [0, length) at `scores`, seen as vectors 0 to count() - 1 of Score::kPerVector scores.
// Vector v holds positions FirstPosition(v) onward; those outside the row read as NaN, so that they
// pass no threshold. Positions of a vector other than the first and the last are all inside.
template <typename Score>
class RowVectors {
 public:
  using Element = typename Score::Bits;
  static constexpr int kPerVector = Score::kPerVector;

  __device__ __forceinline__ RowVectors(const void* scores, int32_t length)
      : length_(length),
        lead_(static_cast<int32_t>((reinterpret_cast<uintptr_t>(scores) & 15) / sizeof(Element))),
        base_(reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(scores) &
                                            ~static_cast<uintptr_t>(15))) {}

  __device__ __forceinline__ int32_t length() const { return length_; }
  __device__ __forceinline__ int32_t count() const {
    return (length_ + lead_ + kPerVector - 1) / kPerVector;
  }
  __device__ __forceinline__ int32_t FirstPosition(int32_t vector) const {
    return vector * kPerVector - lead_;
  }
  // Whether vectors [first, first + count) lie wholly inside the row.
  __device__ __forceinline__ bool Inside(int32_t first, int32_t count) const {
    return FirstPosition(first) >= 0 && FirstPosition(first + count) <= length_;
  }

  // The bits of one score of the row.
  __device__ __forceinline__ uint32_t Bits(uint32_t position) const {
    return __ldg(reinterpret_cast<const Element*>(base_) + lead_ + position);
  }
  // `vector` must be inside. kReuse: keep it in L1.
  template <bool kReuse = false>
  __device__ __forceinline__ Vector16 LoadInside(int32_t vector) const {
    const char* const address = base_ + 16 * static_cast<int64_t>(vector);
    return kReuse ? LoadReused(address) : LoadStreaming(address);
  }
  // Any vector, also one beyond the row.
  template <bool kReuse = false>
  __device__ __forceinline__ Vector16 Load(int32_t vector) const {
    return Inside(vector, 1) ? LoadInside<kReuse>(vector) : LoadPartly(vector);
  }

 private:
  __device__ __forceinline__ Vector16 LoadPartly(int32_t vector) const {
    Vector16 result = {{0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}};
    const int32_t first = FirstPosition(vector);
    const Element* source =
        reinterpret_cast<const Element*>(base_) + static_cast<int64_t>(vector) * kPerVector;
#pragma unroll
    for (int element = 0; element < kPerVector; ++element) {
      if (first + element < 0 || first + element >= length_) continue;
      const uint32_t bits = __ldg(source + element);
      if constexpr (sizeof(Element) == 4) {
        result.words[element] = bits;
      } else {
        uint32_t& word = result.words[element / 2];
        word = element % 2 != 0 ? (word & 0xffffu) | bits << 16 : (word & 0xffff0000u) | bits;
      }
    }
    return result;
  }

  int32_t length_;
  int32_t lead_;  // scores between the first vector's start and the row's
  const char* base_;
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_VECTOR_LOAD_CUH_
