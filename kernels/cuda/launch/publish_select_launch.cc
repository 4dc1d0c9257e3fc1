#include "kernels/cuda/launch/publish_select_launch.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "kernels/cuda/launch/launch_kernel.h"
#include "kernels/cuda/launch/segment_table.h"
#include "kernels/cuda/launch/topk_launch.h"
#include "kernels/cuda/testing/force_route.h"

namespace winnow::cuda {

// Instantiated in instantiate/publish_*.cu.
PublishSelectKernel PublishSelectKernelFloat32(int32_t max_results, bool few_blocks);
PublishSelectKernel PublishSelectKernelBfloat16(int32_t max_results, bool few_blocks);
PublishSelectKernel PublishStreamKernelFloat32(int32_t max_results);
PublishSelectKernel PublishStreamKernelBfloat16(int32_t max_results);

namespace {

constexpr int32_t kFewResults = 512;
constexpr int32_t kFewBlocks = 4096;
constexpr int32_t kSomeBlocks = 16384;

// The most blocks of a row of the launch: up to 4,096, up to 16,384, any number.
enum class BlocksOfRow { kFew, kSome, kMany };

BlocksOfRow BlocksOfRowFor(int32_t most_blocks) {
  if (most_blocks <= kFewBlocks) return BlocksOfRow::kFew;
  return most_blocks <= kSomeBlocks ? BlocksOfRow::kSome : BlocksOfRow::kMany;
}

PublishSelectKernel KernelFor(DType dtype, int32_t max_results, BlocksOfRow blocks) {
  const bool bfloat16 = dtype == DType::kBfloat16;
  if (blocks == BlocksOfRow::kMany) {
    return bfloat16 ? PublishStreamKernelBfloat16(max_results)
                    : PublishStreamKernelFloat32(max_results);
  }
  const bool few = blocks == BlocksOfRow::kFew;
  return bfloat16 ? PublishSelectKernelBfloat16(max_results, few)
                  : PublishSelectKernelFloat32(max_results, few);
}

std::vector<PublishSelectKernel> AllKernels() {
  std::vector<PublishSelectKernel> kernels;
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    for (const int32_t max_results : {kFewResults, kMaxK}) {
      for (const auto blocks : {BlocksOfRow::kFew, BlocksOfRow::kSome, BlocksOfRow::kMany}) {
        kernels.push_back(KernelFor(dtype, max_results, blocks));
      }
    }
  }
  return kernels;
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

bool PublishSelectFits(const DeviceTraits& traits) {
  const std::vector<PublishSelectKernel> kernels = AllKernels();
  return std::all_of(kernels.begin(), kernels.end(), [&](const PublishSelectKernel& kernel) {
    return kernel.shared_bytes <= traits.max_shared_bytes_per_block;
  });
}

bool MayFusePublish() { return FusedPublishForced(); }

cudaError_t PreparePublishSelect() {
  for (const PublishSelectKernel& kernel : AllKernels()) {
    const cudaError_t error =
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel.function),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes);
    if (error != cudaSuccess) return error;
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
                BlocksOfRowFor(most_blocks));
  return LaunchKernel(kernel.function,
                      {.blocks = 2 * rows,
                       .threads = kernel.threads,
                       .shared_bytes = kernel.shared_bytes,
                       .dependent = context.dependent_launch},
                      context.stream, batch);
}

}  // namespace winnow::cuda
