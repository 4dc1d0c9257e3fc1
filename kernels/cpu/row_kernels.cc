#include "kernels/cpu/row_kernels.h"

namespace winnow::cpu {
namespace {

#ifdef WINNOW_X86_KERNELS
bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}

bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

bool HasAvx512Vbmi2() { return HasAvx512() && __builtin_cpu_supports("avx512vbmi2"); }
#endif

}  // namespace

std::vector<const RowKernels*> UsableRowKernels() {
  std::vector<const RowKernels*> usable;
#ifdef WINNOW_X86_KERNELS
  __builtin_cpu_init();
  if (HasAvx512Vbmi2()) usable.push_back(&Avx512Vbmi2RowKernels());
  if (HasAvx512()) usable.push_back(&Avx512RowKernels());
  if (HasAvx2()) usable.push_back(&Avx2RowKernels());
#endif
  usable.push_back(&BaselineRowKernels());
  return usable;
}

const RowKernels& BestRowKernels() {
  static const RowKernels& best = *UsableRowKernels().front();
  return best;
}

}  // namespace winnow::cpu
