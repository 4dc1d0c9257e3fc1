#include "kernels/cuda/publish_steps.h"

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

bool WantsBlocks(const PublishSegment& segment) {
  return segment.blocks != nullptr || segment.block_slots != nullptr ||
         segment.candidate_lengths != nullptr;
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

// Adds the three steps that end in block ids; returns the lengths that the token step must use, so
// that a row is empty in every step or in none.
const int32_t* AddBlockSteps(const PublishParams& params, const PublishSegment& segment,
                             Carver& carver, PublishSteps& steps) {
  const int64_t rows = segment.rows;
  const int32_t columns = (segment.columns - 1) / params.block_size + 1;
  const int64_t stride = (static_cast<int64_t>(columns) + 3) / 4 * 4;  // 16-byte aligned rows
  int32_t* lengths = carver.Take<int32_t>(rows);
  int32_t* counts = carver.Take<int32_t>(rows);
  float* keys = carver.Take<float>(rows * stride);

  BlockAmaxWork amax;
  amax.segment = {.scores = segment.scores,
                  .row_stride = segment.row_stride,
                  .rows = segment.rows,
                  .columns = segment.columns,
                  .lengths = segment.lengths,
                  .keys = keys,
                  .keys_row_stride = stride,
                  .keys_columns = columns,
                  .block_counts = counts,
                  .report = segment.report};
  amax.window_lengths = lengths;
  if (segment.slots != nullptr || segment.block_slots != nullptr) amax.pages = segment.pages;
  steps.amax.push_back(amax);

  TopKSegment select;
  select.scores = keys;
  select.row_stride = stride;
  select.rows = segment.rows;
  select.columns = columns;
  select.lengths = counts;
  const bool in_place = segment.blocks != nullptr;
  select.indices = in_place ? segment.blocks : carver.Take<int32_t>(rows * params.k_blocks);
  select.indices_row_stride = in_place ? segment.blocks_row_stride : params.k_blocks;
  if (segment.max_length > 0) {
    select.max_length = (segment.max_length - 1) / params.block_size + 1;
  }
  select.report = segment.report;
  steps.blocks.push_back(select);

  SortBlocksWork sort;
  sort.segment = {.blocks = select.indices,
                  .blocks_row_stride = select.indices_row_stride,
                  .rows = segment.rows,
                  .max_length = segment.max_length > 0 ? segment.max_length : segment.columns,
                  .lengths = lengths,
                  .pages = segment.pages,
                  .out_blocks = select.indices,
                  .block_slots = segment.block_slots,
                  .candidate_lengths = segment.candidate_lengths,
                  .out_blocks_row_stride = select.indices_row_stride,
                  .block_slots_row_stride = segment.block_slots_row_stride,
                  .report = segment.report};
  steps.sorted.push_back(sort);
  return lengths;
}

}  // namespace

PublishSteps MakePublishSteps(const PublishParams& params,
                              absl::Span<const PublishSegment> segments, std::byte* workspace) {
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
                        .order = Order::kAny,
                        .deterministic = params.deterministic};
  steps.sort_params = {.width = params.k_blocks, .block_size = params.block_size};
  Carver carver(workspace);
  for (const PublishSegment& segment : segments) {
    const int32_t* lengths = segment.lengths;
    if (WantsBlocks(segment)) lengths = AddBlockSteps(params, segment, carver, steps);
    if (WantsTokens(segment)) steps.tokens.push_back(TokenStep(segment, lengths));
  }
  steps.intermediate_bytes = carver.used();
  return steps;
}

}  // namespace winnow::cuda
