// The row kernels for AVX-512 F, BW, CD, DQ and VL; see kernels/cpu/CMakeLists.txt for the flags.

#include "kernels/cpu/row_kernels-inl.h"

namespace winnow::cpu {

const RowKernels& Avx512RowKernels() {
  static constexpr RowKernels kKernels = {"avx512",    &Collect,     &MakeKeys,
                                          &KthLargest, &KeepLargest, &BlockMax};
  return kKernels;
}

}  // namespace winnow::cpu
