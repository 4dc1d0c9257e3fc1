// The row kernels for the compiler's default instruction set; see kernels/cpu/CMakeLists.txt for
// the flags.

#include "kernels/cpu/row_kernels-inl.h"

#if HWY_TARGET == HWY_AVX3
#define WINNOW_BASELINE_NAME "avx512"
#elif HWY_TARGET == HWY_AVX2
#define WINNOW_BASELINE_NAME "avx2"
#elif HWY_TARGET == HWY_NEON
#define WINNOW_BASELINE_NAME "neon"
#elif HWY_TARGET == HWY_SCALAR
#define WINNOW_BASELINE_NAME "scalar"
#else
#define WINNOW_BASELINE_NAME "sse"
#endif

namespace winnow::cpu {

const RowKernels& BaselineRowKernels() {
  static constexpr RowKernels kKernels = {WINNOW_BASELINE_NAME, &Collect,     &MakeKeys,
                                          &KthLargest,          &KeepLargest, &BlockMax};
  return kKernels;
}

}  // namespace winnow::cpu
