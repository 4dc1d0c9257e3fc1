#include "kernels/cuda/launch/publish_select_launch.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/cuda/launch/launch_kernel.h"
#include "kernels/cuda/launch/segment_table.h"
#include "kernels/cuda/launch/topk_launch.h"
#include "kernels/cuda/testing/force_route.h"

namespace winnow::cuda {

// Instantiated in instantiate/publish_select_*.cu.
PublishSelectKernel PublishSelectKernelFloat32(int32_t max_results, bool few_blocks);
PublishSelectKernel PublishSelectKernelBfloat16(int32_t max_results, bool few_blocks);

namespace {

constexpr int32_t kFewResults = 512;
constexpr int32_t kFewBlocks = 4096;

PublishSelectKernel KernelFor(DType dtype, int32_t max_results, bool few_blocks) {
  return dtype == DType::kBfloat16 ? PublishSelectKernelBfloat16(max_results, few_blocks)
                                   : PublishSelectKernelFloat32(max_results, few_blocks);
}

TopKBatch BatchOf(const TopKParams& params, bool release_early) {
  TopKBatch batch;
  batch.k = params.k;
  batch.dtype = static_cast<int32_t>(params.dtype);
  batch.order = static_cast<int32_t>(OutputOrder(params));
  batch.deterministic = params.deterministic;
  batch.release_early = release_early;
  return batch;
}

}  // namespace

bool MayFusePublish() { return FusedPublishForced(); }

cudaError_t PreparePublishSelect() {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const int32_t max_results : {kFewResults, kMaxK}) {
      for (const bool few_blocks : {false, true}) {
        const PublishSelectKernel kernel = KernelFor(dtype, max_results, few_blocks);
        const cudaError_t error =
            cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel.function),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes);
        if (error != cudaSuccess) return error;
      }
    }
  }
  return cudaSuccess;
}

int64_t PublishSelectWorkspaceBytes(absl::Span<const TopKSegment> tokens,
                                    absl::Span<const TopKSegment> blocks) {
  return SegmentTableBytes(tokens) + SegmentTableBytes(blocks);
}

cudaError_t LaunchPublishSelect(const LaunchContext& context, const TopKParams& token_params,
                                absl::Span<const TopKSegment> tokens,
                                const TopKParams& block_params,
                                absl::Span<const TopKSegment> blocks,
                                absl::Span<std::byte> workspace) {
  if (tokens.empty()) return cudaSuccess;
  int64_t rows = 0;
  int32_t most_blocks = 0;
  for (const TopKSegment& segment : blocks) {
    rows += segment.rows;
    most_blocks =
        std::max(most_blocks, segment.max_length > 0 ? std::min(segment.max_length, segment.columns)
                                                     : segment.columns);
  }
  const bool release_early = 2 * rows <= context.traits.multiprocessors;
  PublishBatch batch;
  batch.tokens = BatchOf(token_params, release_early);
  batch.blocks = BatchOf(block_params, release_early);
  batch.expand_above = std::max(block_params.k, 2 * token_params.k);
  if (const cudaError_t error = StoreSegmentTable(context, tokens, workspace.data(), batch.tokens);
      error != cudaSuccess) {
    return error;
  }
  if (const cudaError_t error = StoreSegmentTable(
          context, blocks, workspace.data() + SegmentTableBytes(tokens), batch.blocks);
      error != cudaSuccess) {
    return error;
  }
  const PublishSelectKernel kernel =
      KernelFor(token_params.dtype, token_params.k <= kFewResults ? kFewResults : kMaxK,
                most_blocks <= kFewBlocks);
  return LaunchKernel(kernel.function,
                      {.blocks = 2 * rows,
                       .threads = kernel.threads,
                       .shared_bytes = kernel.shared_bytes,
                       .dependent = context.dependent_launch},
                      context.stream, batch);
}

}  // namespace winnow::cuda
