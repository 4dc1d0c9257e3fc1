// Division by a number known at the launch, as one multiplication.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_SMALL_DIVISOR_H_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_SMALL_DIVISOR_H_

#include <cstdint>

namespace winnow::cuda {

// Exact for divisors from 1 to 1,024 and dividends from 0 to 2^26: the product fits 63 bits, and
// the rounding error, below divisor * 2^26, stays under 2^36.
struct SmallDivisor {
  static constexpr int32_t kMaxDivisor = 1024;
  static constexpr int64_t kMaxDividend = int64_t{1} << 26;

  int32_t divisor = 1;
  int64_t multiplier = int64_t{1} << 36;

  static constexpr SmallDivisor Of(int32_t divisor) {
    return {.divisor = divisor, .multiplier = ((int64_t{1} << 36) + divisor - 1) / divisor};
  }
  constexpr int32_t Divide(int32_t dividend) const {
    return static_cast<int32_t>((dividend * multiplier) >> 36);
  }
};

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_SMALL_DIVISOR_H_
