// Reporting what a kernel found wrong in its data. Any thread may call these; nothing waits.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_FAULT_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_FAULT_CUH_

#include <cstdint>

#include "winnow/kernels/segments.h"

namespace winnow::cuda {

// WINNOW_CUDA_ASSUME_VALID, for one benchmark only, tells the compiler that no fault ever happens:
// what the checks of entries cost is the difference. Such a build must never see bad data.

// Records a fault unless the segment has one already. The claimer of `kind` alone writes the rest,
// so that the fields belong together; they are read after the kernel has completed.
__device__ __forceinline__ void ReportFaultInline(SegmentReport* report, FaultKind kind,
                                                  int32_t row, int64_t entry, int64_t value,
                                                  int64_t limit) {
#ifdef WINNOW_CUDA_ASSUME_VALID
  __builtin_unreachable();
#endif
  FaultRecord& fault = report->fault;
  if (atomicCAS(&fault.kind, 0, static_cast<int32_t>(kind)) != 0) return;
  fault.row = row;
  fault.entry = entry;
  fault.value = value;
  fault.limit = limit;
}

// The same as a call: less code where there are many places, but what is live across it must be
// saved. The inline one is for places in the middle of a kernel that has no register to spare.
#ifndef WINNOW_CUDA_ASSUME_VALID
__noinline__
#endif
    inline __device__ void
    ReportFault(SegmentReport* report, FaultKind kind, int32_t row, int64_t entry, int64_t value,
                int64_t limit) {
  ReportFaultInline(report, kind, row, entry, value, limit);
}

__device__ __forceinline__ void CountNegativeRow(SegmentReport* report) {
  atomicAdd(&report->negative_rows, 1);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_FAULT_CUH_
