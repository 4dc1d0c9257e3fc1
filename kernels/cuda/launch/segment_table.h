// The requests of one launch as a table in device memory. It travels in kernel parameters, so that
// nothing has to stay alive on the host and a captured graph holds its own copy.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_SEGMENT_TABLE_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_SEGMENT_TABLE_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/launch/launch_context.h"
#include "winnow/kernels/segments.h"

namespace winnow::cuda {

// Workspace of the table: 0 for one segment, which needs none.
int64_t SegmentTableBytes(absl::Span<const TopKSegment> segments);

// Sets the segment fields of `batch`; for several segments also enqueues the kernels that write the
// table to the first SegmentTableBytes of `workspace`.
cudaError_t StoreSegmentTable(const LaunchContext& context, absl::Span<const TopKSegment> segments,
                              std::byte* workspace, TopKBatch& batch);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_SEGMENT_TABLE_H_
