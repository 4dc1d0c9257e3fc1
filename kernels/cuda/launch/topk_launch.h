// Puts a top-k on a stream: policy, workspace, kernels.
// Next: tuning/topk_policy.h for the choice, kernel/topk_*.cuh for what runs.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_TOPK_LAUNCH_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_TOPK_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "kernels/cuda/launch/launch_context.h"
#include "kernels/cuda/tuning/topk_policy.h"
#include "winnow/kernels/operations.h"

namespace winnow::cuda {

// Whether a block of each kernel for clusters has enough shared memory: where not, the traits must
// say that no cluster is resident.
bool ClusterKernelsFit(const DeviceTraits& traits);

// Lets the kernels use the shared memory and the cluster sizes that they need on the current
// device, whose traits are given. Once for each device, before the first LaunchTopK on it.
cudaError_t PrepareTopK(const DeviceTraits& traits);

// The order in which results are written: any is as good as another unless it must be the same
// every time.
Order OutputOrder(const TopKParams& params);

// Bytes of workspace that LaunchTopK needs for these segments.
int64_t TopKWorkspaceBytes(const DeviceTraits& traits, const TopKParams& params,
                           absl::Span<const TopKSegment> segments);

// Enqueues the top-k of all segments; params and segments have passed CheckTopK. `workspace` is
// device memory of TopKWorkspaceBytes, aligned to 256 bytes, with any contents; it is in use until
// the work completes. Reads no device memory on the host, allocates nothing, waits for nothing, and
// may be captured into a graph. The span may be destroyed when the call returns.
cudaError_t LaunchTopK(const LaunchContext& context, const TopKParams& params,
                       absl::Span<const TopKSegment> segments, absl::Span<std::byte> workspace);

// The same with a policy of the caller's choice, for benchmarks that look for a better one.
int64_t TopKWorkspaceBytes(const TopKPolicy& policy, const TopKParams& params,
                           absl::Span<const TopKSegment> segments);
cudaError_t LaunchTopK(const LaunchContext& context, const TopKPolicy& policy,
                       const TopKParams& params, absl::Span<const TopKSegment> segments,
                       absl::Span<std::byte> workspace);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_TOPK_LAUNCH_H_
