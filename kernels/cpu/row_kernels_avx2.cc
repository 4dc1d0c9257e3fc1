// The row kernels for AVX2, BMI2 and FMA; see kernels/cpu/CMakeLists.txt for the flags.

#include "kernels/cpu/row_kernels-inl.h"

namespace winnow::cpu {

const RowKernels& Avx2RowKernels() {
  static constexpr RowKernels kKernels = {"avx2",      &Collect,     &MakeKeys,
                                          &KthLargest, &KeepLargest, &BlockMax};
  return kKernels;
}

}  // namespace winnow::cpu
