// PublishCandidates as the steps that it stands for: which segments each step gets, and where in
// the workspace the intermediate results lie. Host code only; CudaDevice runs the steps one after
// another on one stream, with no host round trip between them.
// There are two ways. Step by step: block max, tokens, blocks, sort. Fused, for blocks of 8 where
// every segment wants both: block max, then one launch for both selections, whose blocks come in
// ascending order and with their slots (launch/publish_select_launch.h).

#ifndef WINNOW_KERNELS_CUDA_PUBLISH_STEPS_H_
#define WINNOW_KERNELS_CUDA_PUBLISH_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "kernels/cuda/launch/block_amax_launch.h"
#include "kernels/cuda/launch/sort_blocks_launch.h"
#include "winnow/kernels/operations.h"

namespace winnow::cuda {

struct PublishSteps {
  // In this order. A step that no segment needs is empty.
  std::vector<BlockAmaxWork> amax;     // keys; also settles each row's length, and counts bad rows
  std::vector<TopKSegment> tokens;     // scores -> indices, slots
  std::vector<TopKSegment> blocks;     // keys -> block ids; fused: in order, with slots
  std::vector<SortBlocksWork> sorted;  // block ids -> ascending ids, block slots, lengths
  bool fused = false;                  // tokens and blocks are one launch, and nothing is sorted

  BlockAmaxParams amax_params;
  TopKParams token_params;
  TopKParams block_params;
  SortBlocksParams sort_params;

  // Bytes of the workspace that the intermediate results take; the two selections share what lies
  // behind them. A multiple of 256.
  int64_t intermediate_bytes = 0;
};

// `segments` passed CheckPublish. Intermediate results lie at `workspace`, which may be null when
// only sizes are wanted.
PublishSteps MakePublishSteps(const PublishParams& params,
                              absl::Span<const PublishSegment> segments, std::byte* workspace,
                              bool may_fuse);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PUBLISH_STEPS_H_
