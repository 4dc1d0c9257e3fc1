// The part of CUDA's bfloat16 that the kernels use.

#ifndef WINNOW_TESTS_SIMT_INCLUDE_CUDA_BF16_H_
#define WINNOW_TESTS_SIMT_INCLUDE_CUDA_BF16_H_

#include <cmath>
#include <cstdint>

#include "tests/simt/device_functions.h"

struct __nv_bfloat16 {
  uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

namespace winnow::simt {
// The larger; the other where one is NaN; of two zeros the positive one.
inline __nv_bfloat16 MaxOfBfloat16(__nv_bfloat16 a, __nv_bfloat16 b) {
  const float left = __uint_as_float(static_cast<uint32_t>(a.bits) << 16);
  const float right = __uint_as_float(static_cast<uint32_t>(b.bits) << 16);
  if (std::isnan(left)) return std::isnan(right) ? __nv_bfloat16{0x7fff} : b;
  if (std::isnan(right)) return a;
  if (left == right) return (a.bits & 0x8000) != 0 ? b : a;
  return left > right ? a : b;
}
}  // namespace winnow::simt

inline __nv_bfloat162 __hmax2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {winnow::simt::MaxOfBfloat16(a.x, b.x), winnow::simt::MaxOfBfloat16(a.y, b.y)};
}

#endif  // WINNOW_TESTS_SIMT_INCLUDE_CUDA_BF16_H_
