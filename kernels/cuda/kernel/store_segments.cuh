// Writes part of a segment table from the kernel's parameters to device memory.

#ifndef WINNOW_KERNELS_CUDA_KERNEL_STORE_SEGMENTS_CUH_
#define WINNOW_KERNELS_CUDA_KERNEL_STORE_SEGMENTS_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/primitives/dependent_launch.cuh"
#include "winnow/kernels/segments.h"

namespace winnow::cuda {

// As many as one launch's parameters carry comfortably: about 10 KB.
inline constexpr int32_t kSegmentsInParameters = 64;
inline constexpr int kStoreThreads = 256;

struct SegmentChunk {
  TopKSegment* segments = nullptr;  // of the table; this chunk starts at `first_segment`
  int32_t* first_rows = nullptr;
  uint16_t* row_segments = nullptr;
  int32_t first_segment = 0;
  int32_t first_row = 0;  // of the chunk's first segment
  int32_t count = 0;
  TopKSegment parameters[kSegmentsInParameters];
};

// One block of kStoreThreads.
__global__ void __launch_bounds__(kStoreThreads)
    StoreSegments(const __grid_constant__ SegmentChunk chunk) {
  WaitForPredecessor();
  ReleaseSuccessor();
  int32_t row = chunk.first_row;
  for (int32_t i = 0; i < chunk.count; ++i) {
    const TopKSegment& segment = chunk.parameters[i];
    const int32_t index = chunk.first_segment + i;
    if (threadIdx.x == 0) {
      chunk.segments[index] = segment;
      chunk.first_rows[index] = row;
    }
    for (int32_t j = threadIdx.x; j < segment.rows; j += kStoreThreads) {
      chunk.row_segments[row + j] = static_cast<uint16_t>(index);
    }
    row += segment.rows;
  }
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_KERNEL_STORE_SEGMENTS_CUH_
