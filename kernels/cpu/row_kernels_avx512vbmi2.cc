// The row kernels for AVX-512 with VBMI2, which packs lanes of 16 bits; see
// kernels/cpu/CMakeLists.txt for the flags.

#include "kernels/cpu/row_kernels-inl.h"

namespace winnow::cpu {

const RowKernels& Avx512Vbmi2RowKernels() {
  static constexpr RowKernels kKernels = {"avx512vbmi2", &Collect,  &MakeKeys,      &KthLargest,
                                          &KeepLargest,  &BlockMax, &HalfThreshold, &SelectHalves};
  return kKernels;
}

}  // namespace winnow::cpu
