// Body of row_kernels_*.cc, compiled once per instruction set. Everything is in unnamed namespaces:
// an inline function shared with other files could be compiled here with instructions that the
// processor lacks and be picked by the linker for all of them. For the same reason nothing here
// calls the standard library.

#ifndef WINNOW_KERNELS_CPU_ROW_KERNELS_INL_H_
#define WINNOW_KERNELS_CPU_ROW_KERNELS_INL_H_

#include "kernels/cpu/block_max-inl.h"
#include "kernels/cpu/collect-inl.h"
#include "kernels/cpu/halves-inl.h"
#include "kernels/cpu/select_keys-inl.h"
#include "kernels/cpu/vector_keys-inl.h"

#endif  // WINNOW_KERNELS_CPU_ROW_KERNELS_INL_H_
