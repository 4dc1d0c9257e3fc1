#include "kernels/cuda/launch/topk_launch.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>

#include "kernels/cuda/launch/launch_kernel.h"
#include "kernels/cuda/launch/segment_table.h"
#include "kernels/cuda/launch/topk_kernels.h"
#include "kernels/cuda/testing/force_route.h"
#include "kernels/cuda/tuning/topk_policy.h"

namespace winnow::cuda {

// Instantiated in instantiate/topk_*.cu.
TopKKernels ShortKernelsFloat32(int32_t max_results, int32_t loads);
TopKKernels ShortKernelsBfloat16(int32_t max_results, int32_t loads);
TopKKernels StreamKernelsFloat32(int32_t max_results, int32_t loads, bool keep_keys);
TopKKernels StreamKernelsBfloat16(int32_t max_results, bool keep_keys);
TopKKernels SplitKernelsFloat32(int32_t max_results, int32_t loads);
TopKKernels SplitKernelsBfloat16(int32_t max_results);

TopKKernels ShortKernels(DType dtype, int32_t max_results, int32_t loads) {
  return dtype == DType::kBfloat16 ? ShortKernelsBfloat16(max_results, loads)
                                   : ShortKernelsFloat32(max_results, loads);
}

TopKKernels StreamKernels(DType dtype, int32_t max_results, int32_t loads, bool keep_keys) {
  return dtype == DType::kBfloat16 ? StreamKernelsBfloat16(max_results, keep_keys)
                                   : StreamKernelsFloat32(max_results, loads, keep_keys);
}

TopKKernels SplitKernels(DType dtype, int32_t max_results, int32_t loads) {
  return dtype == DType::kBfloat16 ? SplitKernelsBfloat16(max_results)
                                   : SplitKernelsFloat32(max_results, loads);
}

namespace {

constexpr int64_t kAlignment = 256;
int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

TopKKernels KernelsFor(DType dtype, const TopKPolicy& policy) {
  switch (policy.route) {
    case TopKRoute::kStream:
      return StreamKernels(dtype, policy.max_results, policy.loads, policy.keep_keys);
    case TopKRoute::kSplit:
      return SplitKernels(dtype, policy.max_results, policy.loads);
    case TopKRoute::kCluster:
      return ClusterKernels(dtype, policy.max_results);
    case TopKRoute::kShort:
      return ShortKernels(dtype, policy.max_results, policy.loads);
    case TopKRoute::kExact:
      break;
  }
  return ExactKernels(dtype);
}

TopKWork WorkOf(const TopKParams& params, absl::Span<const TopKSegment> segments) {
  TopKWork work{.dtype = params.dtype, .k = params.k};
  for (const TopKSegment& segment : segments) {
    work.rows += segment.rows;
    const int32_t longest =
        segment.max_length > 0 ? std::min(segment.max_length, segment.columns) : segment.columns;
    work.max_length = std::max(work.max_length, longest);
    work.planned = work.planned || segment.plan != nullptr;
  }
  return work;
}

TopKPolicy PolicyFor(const DeviceTraits& traits, const TopKParams& params,
                     absl::Span<const TopKSegment> segments) {
  const TopKWork work = WorkOf(params, segments);
  const std::optional<TopKRoute> forced = ForcedTopKRoute();
  if (!forced.has_value()) return ChooseTopKPolicy(traits, work);
  TopKPolicy policy = PolicyForRoute(*forced, traits, work);
  policy.pool_threshold = kForcedPoolThreshold;
  return policy;
}

// How a launch will run, and where its workspace holds what.
struct TopKLayout {
  TopKPolicy policy;
  TopKKernels kernels;
  int64_t rows = 0;
  int64_t survivors_at = 0;
  int64_t counts_at = 0;
  int64_t plateaus_at = 0;
  int64_t workspace_bytes = 0;
};

TopKLayout LayOut(const TopKPolicy& policy, const TopKParams& params,
                  absl::Span<const TopKSegment> segments) {
  TopKLayout layout{.policy = policy, .kernels = KernelsFor(params.dtype, policy)};
  for (const TopKSegment& segment : segments) layout.rows += segment.rows;
  layout.survivors_at = Aligned(SegmentTableBytes(segments));
  const int64_t capacity = layout.kernels.capacity;
  const int64_t lists = capacity > 0 ? layout.rows * policy.split : 0;
  layout.counts_at = layout.survivors_at + Aligned(lists * capacity * int64_t{sizeof(Candidate)});
  layout.plateaus_at = layout.counts_at + Aligned(lists * int64_t{sizeof(uint32_t)});
  const int64_t plateaus = lists > 0 ? layout.rows : 0;
  layout.workspace_bytes = layout.plateaus_at + Aligned(plateaus * int64_t{sizeof(uint32_t)});
  return layout;
}

TopKBatch MakeBatch(const TopKParams& params, const TopKLayout& layout, std::byte* workspace) {
  TopKBatch batch;
  batch.k = params.k;
  batch.dtype = static_cast<int32_t>(params.dtype);
  batch.order = static_cast<int32_t>(OutputOrder(params));
  batch.deterministic = params.deterministic;
  batch.release_early = layout.policy.release_early;
  batch.pool_threshold = layout.policy.pool_threshold;
  batch.split = layout.policy.split;
  if (layout.kernels.capacity > 0) {
    batch.survivors = reinterpret_cast<Candidate*>(workspace + layout.survivors_at);
    batch.survivor_counts = reinterpret_cast<uint32_t*>(workspace + layout.counts_at);
    batch.plateaus = reinterpret_cast<uint32_t*>(workspace + layout.plateaus_at);
  }
  return batch;
}

cudaError_t LaunchOne(const LaunchContext& context, const TopKKernel& kernel, int64_t blocks,
                      int32_t cluster_size, const TopKBatch& batch) {
  return LaunchKernel(kernel.function,
                      {.blocks = blocks,
                       .threads = kernel.threads,
                       .shared_bytes = kernel.shared_bytes,
                       .cluster_size = cluster_size,
                       .dependent = context.dependent_launch},
                      context.stream, batch);
}

// Lets a kernel use the shared memory, and on devices that have it the cluster size, that it needs.
cudaError_t Allow(const TopKKernel& kernel, bool clusters) {
  if (kernel.function == nullptr) return cudaSuccess;
  const void* const function = reinterpret_cast<const void*>(kernel.function);
  const cudaError_t error = cudaFuncSetAttribute(
      function, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes);
  if (error != cudaSuccess || !clusters) return error;
  return cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

}  // namespace

Order OutputOrder(const TopKParams& params) {
  return params.deterministic && params.order == Order::kAny ? Order::kPosition : params.order;
}

bool ClusterKernelsFit(const DeviceTraits& traits) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const int32_t max_results : {512, kMaxK}) {
      const TopKKernels kernels = ClusterKernels(dtype, max_results);
      if (kernels.first.shared_bytes > traits.max_shared_bytes_per_block) return false;
    }
  }
  return true;
}

cudaError_t PrepareTopK(const DeviceTraits& traits) {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (int32_t route = 0; route < kTopKRouteCount; ++route) {
      const bool clusters = static_cast<TopKRoute>(route) == TopKRoute::kCluster;
      if (clusters && traits.clusters_of_8 == 0) continue;
      for (const int32_t max_results : {512, kMaxK}) {
        for (const int32_t loads : {1, 2, 4, 8}) {
          for (const bool keep_keys : {false, true}) {
            if (keep_keys && static_cast<TopKRoute>(route) != TopKRoute::kStream) continue;
            const TopKKernels kernels = KernelsFor(dtype, {.route = static_cast<TopKRoute>(route),
                                                           .max_results = max_results,
                                                           .loads = loads,
                                                           .keep_keys = keep_keys});
            for (const TopKKernel& kernel : {kernels.first, kernels.second}) {
              if (const auto error = Allow(kernel, clusters); error != cudaSuccess) return error;
            }
          }
        }
      }
    }
  }
  return cudaSuccess;
}

int64_t TopKWorkspaceBytes(const DeviceTraits& traits, const TopKParams& params,
                           absl::Span<const TopKSegment> segments) {
  return TopKWorkspaceBytes(PolicyFor(traits, params, segments), params, segments);
}

int64_t TopKWorkspaceBytes(const TopKPolicy& policy, const TopKParams& params,
                           absl::Span<const TopKSegment> segments) {
  return LayOut(policy, params, segments).workspace_bytes;
}

cudaError_t LaunchTopK(const LaunchContext& context, const TopKParams& params,
                       absl::Span<const TopKSegment> segments, absl::Span<std::byte> workspace) {
  return LaunchTopK(context, PolicyFor(context.traits, params, segments), params, segments,
                    workspace);
}

cudaError_t LaunchTopK(const LaunchContext& context, const TopKPolicy& policy,
                       const TopKParams& params, absl::Span<const TopKSegment> segments,
                       absl::Span<std::byte> workspace) {
  if (segments.empty()) return cudaSuccess;
  const TopKLayout layout = LayOut(policy, params, segments);
  TopKBatch batch = MakeBatch(params, layout, workspace.data());
  if (const cudaError_t error = StoreSegmentTable(context, segments, workspace.data(), batch);
      error != cudaSuccess) {
    return error;
  }
  const int32_t cluster_size = policy.route == TopKRoute::kCluster ? policy.split : 1;
  const cudaError_t error =
      LaunchOne(context, layout.kernels.first, layout.rows * policy.split, cluster_size, batch);
  if (error != cudaSuccess || layout.kernels.second.function == nullptr) return error;
  return LaunchOne(context, layout.kernels.second, layout.rows, 1, batch);
}

}  // namespace winnow::cuda
