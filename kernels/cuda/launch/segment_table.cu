#include <algorithm>

#include "kernels/cuda/kernel/store_segments.cuh"
#include "kernels/cuda/launch/launch_kernel.h"
#include "kernels/cuda/launch/segment_table.h"
#include "winnow/kernels/limits.h"

namespace winnow::cuda {
namespace {

constexpr int64_t kAlignment = 256;
int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

static_assert(kMaxSegments <= 65536, "row_segments holds 16-bit numbers");

}  // namespace

int64_t SegmentTableBytes(absl::Span<const TopKSegment> segments) {
  if (segments.size() <= 1) return 0;
  int64_t rows = 0;
  for (const TopKSegment& segment : segments) rows += segment.rows;
  const int64_t count = static_cast<int64_t>(segments.size());
  return Aligned(count * int64_t{sizeof(TopKSegment)}) + Aligned(count * int64_t{sizeof(int32_t)}) +
         Aligned(rows * int64_t{sizeof(uint16_t)});
}

cudaError_t StoreSegmentTable(const LaunchContext& context, absl::Span<const TopKSegment> segments,
                              std::byte* workspace, TopKBatch& batch) {
  const int64_t count = static_cast<int64_t>(segments.size());
  batch.segment_count = static_cast<int32_t>(count);
  if (count == 1) {
    batch.segment = segments[0];
    return cudaSuccess;
  }
  SegmentChunk chunk;
  chunk.segments = reinterpret_cast<TopKSegment*>(workspace);
  workspace += Aligned(count * int64_t{sizeof(TopKSegment)});
  chunk.first_rows = reinterpret_cast<int32_t*>(workspace);
  workspace += Aligned(count * int64_t{sizeof(int32_t)});
  chunk.row_segments = reinterpret_cast<uint16_t*>(workspace);
  batch.segments = chunk.segments;
  batch.first_rows = chunk.first_rows;
  batch.row_segments = chunk.row_segments;
  for (int64_t first = 0; first < count; first += kSegmentsInParameters) {
    chunk.first_segment = static_cast<int32_t>(first);
    chunk.count = static_cast<int32_t>(std::min<int64_t>(kSegmentsInParameters, count - first));
    std::copy_n(segments.begin() + first, chunk.count, chunk.parameters);
    const cudaError_t error =
        LaunchKernel(StoreSegments,
                     {.blocks = 1, .threads = kStoreThreads, .dependent = context.dependent_launch},
                     context.stream, chunk);
    if (error != cudaSuccess) return error;
    for (int32_t i = 0; i < chunk.count; ++i) chunk.first_row += chunk.parameters[i].rows;
  }
  return cudaSuccess;
}

}  // namespace winnow::cuda
