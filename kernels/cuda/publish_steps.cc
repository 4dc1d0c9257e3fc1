#include "kernels/cuda/publish_steps.h"

#include <algorithm>

#include "winnow/kernels/limits.h"

namespace winnow::cuda {
namespace {

// Hands out parts of the workspace. Also with a null base: then only sizes count.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(reinterpret_cast<uintptr_t>(base)) {}

  template <typename T>
  T* Take(int64_t count) {
    const uintptr_t address = base_ + static_cast<uintptr_t>(used_);
    used_ += (count * static_cast<int64_t>(sizeof(T)) + 255) / 256 * 256;
    return reinterpret_cast<T*>(address);
  }
  int64_t used() const { return used_; }

 private:
  uintptr_t base_;  // an integer: arithmetic on a null pointer has no meaning
  int64_t used_ = 0;
};

bool WantsTokens(const PublishSegment& segment) {
  return segment.slots != nullptr || segment.indices != nullptr;
}

bool SelectsBlocks(const PublishSegment& segment) {
  return segment.blocks != nullptr || segment.block_slots != nullptr;
}

bool WantsBlocks(const PublishSegment& segment) {
  return SelectsBlocks(segment) || segment.candidate_lengths != nullptr;
}

TopKSegment TokenStep(const PublishSegment& segment, const int32_t* lengths) {
  TopKSegment step;
  step.scores = segment.scores;
  step.row_stride = segment.row_stride;
  step.rows = segment.rows;
  step.columns = segment.columns;
  step.lengths = lengths;
  step.pages = segment.pages;
  step.indices = segment.indices;
  step.indices_row_stride = segment.indices_row_stride;
  step.slots = segment.slots;
  step.slots_row_stride = segment.slots_row_stride;
  step.max_length = segment.max_length;
  step.report = segment.report;
  return step;
}

// Intermediate results of one segment's blocks.
struct Intermediate {
  int32_t* lengths = nullptr;  // [rows]: what every step must use, so that a row is empty in every
                               // step or in none
  int32_t* counts = nullptr;   // [rows]
  float* keys = nullptr;       // [rows, key_stride]
  int32_t key_columns = 0;
  int64_t key_stride = 0;
  int32_t* blocks = nullptr;  // [rows, block_stride]: the caller's table when there is one
  int64_t block_stride = 0;
};

Intermediate Carve(const PublishParams& params, const PublishSegment& segment, bool fused,
                   Carver& carver) {
  const int64_t rows = segment.rows;
  Intermediate parts;
  parts.lengths = carver.Take<int32_t>(rows);
  parts.counts = carver.Take<int32_t>(rows);
  parts.key_columns = (segment.columns - 1) / params.block_size + 1;
  parts.key_stride = (static_cast<int64_t>(parts.key_columns) + 3) / 4 * 4;  // 16-byte aligned rows
  parts.keys = carver.Take<float>(rows * parts.key_stride);
  const bool in_place = segment.blocks != nullptr || fused;  // fused: null when not wanted
  parts.blocks = in_place ? segment.blocks : carver.Take<int32_t>(rows * params.k_blocks);
  parts.block_stride = in_place ? segment.blocks_row_stride : params.k_blocks;
  return parts;
}

BlockAmaxWork AmaxStep(const PublishSegment& segment, const Intermediate& parts) {
  BlockAmaxWork step;
  step.segment = {.scores = segment.scores,
                  .row_stride = segment.row_stride,
                  .rows = segment.rows,
                  .columns = segment.columns,
                  .lengths = segment.lengths,
                  .keys = parts.keys,
                  .keys_row_stride = parts.key_stride,
                  .keys_columns = parts.key_columns,
                  .block_counts = parts.counts,
                  .report = segment.report};
  step.window_lengths = parts.lengths;
  if (segment.slots != nullptr || segment.block_slots != nullptr) step.pages = segment.pages;
  return step;
}

// What a fused publish leaves to block max.
void AddCandidateLengths(const PublishParams& params, const PublishSegment& segment,
                         BlockAmaxWork& step) {
  step.candidate_lengths = segment.candidate_lengths;
  step.kept_blocks = params.k_blocks;
}

TopKSegment BlockStep(const PublishParams& params, const PublishSegment& segment,
                      const Intermediate& parts) {
  TopKSegment step;
  step.scores = parts.keys;
  step.row_stride = parts.key_stride;
  step.rows = segment.rows;
  step.columns = parts.key_columns;
  step.lengths = parts.counts;
  step.indices = parts.blocks;
  step.indices_row_stride = parts.block_stride;
  if (segment.max_length > 0) step.max_length = (segment.max_length - 1) / params.block_size + 1;
  step.report = segment.report;
  return step;
}

// What a fused publish leaves to the selection of blocks: their slots. A page holds fewer of them
// than of positions.
void AddBlockSlots(const PublishParams& params, const PublishSegment& segment, TopKSegment& step) {
  if (segment.block_slots == nullptr) return;
  step.slots = segment.block_slots;
  step.slots_row_stride = segment.block_slots_row_stride;
  step.pages = segment.pages;
  step.pages.page_size /= params.block_size;
}

SortBlocksWork SortStep(const PublishSegment& segment, const Intermediate& parts) {
  SortBlocksWork step;
  step.segment = {.blocks = parts.blocks,
                  .blocks_row_stride = parts.block_stride,
                  .rows = segment.rows,
                  .max_length = segment.max_length > 0 ? segment.max_length : segment.columns,
                  .lengths = parts.lengths,
                  .pages = segment.pages,
                  .out_blocks = parts.blocks,
                  .block_slots = segment.block_slots,
                  .candidate_lengths = segment.candidate_lengths,
                  .out_blocks_row_stride = parts.block_stride,
                  .block_slots_row_stride = segment.block_slots_row_stride,
                  .report = segment.report};
  return step;
}

// Whether LaunchPublishSelect can do both selections.
bool CanFuse(const PublishParams& params, absl::Span<const PublishSegment> segments) {
  if (params.block_size != kDefaultBlockSize) return false;
  return std::all_of(segments.begin(), segments.end(), [](const PublishSegment& segment) {
    return WantsTokens(segment) && SelectsBlocks(segment);
  });
}

PublishSteps StepsWithParams(const PublishParams& params, bool fused) {
  PublishSteps steps;
  // Rows whose every block is selected anyway need no keys.
  steps.amax_params = {
      .dtype = params.dtype, .block_size = params.block_size, .skip_at_most = params.k_blocks};
  steps.token_params = {.dtype = params.dtype,
                        .k = params.k,
                        .order = params.order,
                        .deterministic = params.deterministic};
  steps.block_params = {.dtype = DType::kFloat32,
                        .k = params.k_blocks,
                        .order = fused ? Order::kPosition : Order::kAny,
                        .deterministic = params.deterministic};
  steps.sort_params = {.width = params.k_blocks, .block_size = params.block_size};
  return steps;
}

}  // namespace

PublishSteps MakePublishSteps(const PublishParams& params,
                              absl::Span<const PublishSegment> segments, std::byte* workspace,
                              bool may_fuse) {
  const bool fused = may_fuse && CanFuse(params, segments);
  PublishSteps steps = StepsWithParams(params, fused);
  steps.fused = fused;
  Carver carver(workspace);
  for (const PublishSegment& segment : segments) {
    const int32_t* lengths = segment.lengths;
    if (WantsBlocks(segment)) {
      const Intermediate parts = Carve(params, segment, fused, carver);
      lengths = parts.lengths;
      steps.amax.push_back(AmaxStep(segment, parts));
      TopKSegment blocks = BlockStep(params, segment, parts);
      if (fused) {
        AddCandidateLengths(params, segment, steps.amax.back());
        AddBlockSlots(params, segment, blocks);
      } else {
        steps.sorted.push_back(SortStep(segment, parts));
      }
      steps.blocks.push_back(blocks);
    }
    if (WantsTokens(segment)) steps.tokens.push_back(TokenStep(segment, lengths));
  }
  steps.intermediate_bytes = carver.used();
  return steps;
}

}  // namespace winnow::cuda
