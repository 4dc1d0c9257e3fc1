// PublishCandidates as the steps it stands for, row by row.

#include <algorithm>
#include <vector>

#include "kernels/cpu/row_rules.h"
#include "winnow/kernels/reference.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::reference {
namespace {

// One row of a publish segment, whose length is already known to be right.
struct PublishRow {
  const void* scores = nullptr;
  int32_t length = 0;
  PageTransform pages;  // of this row alone
  bool wants_slots = false;
  bool wants_block_slots = false;
  std::vector<int32_t> indices, slots, blocks, block_slots;
  int32_t candidate_length = 0;
  FaultRecord fault;  // at entry level
};

void KeepFirst(const SegmentReport& report, PublishRow& row) {
  if (row.fault.kind == 0) row.fault = report.fault;
}

absl::Status SelectTokens(const PublishParams& params, PublishRow& row) {
  SegmentReport report;
  TopKSegment segment;
  segment.scores = row.scores;
  segment.row_stride = segment.columns = std::max(row.length, 1);
  segment.rows = 1;
  segment.lengths = &row.length;
  segment.pages = row.pages;
  segment.indices = row.indices.data();
  segment.indices_row_stride = params.k;
  if (row.wants_slots) segment.slots = row.slots.data();
  segment.slots_row_stride = params.k;
  segment.report = &report;
  WINNOW_RETURN_IF_ERROR(TopK({.dtype = params.dtype,
                               .k = params.k,
                               .order = params.order,
                               .deterministic = params.deterministic},
                              segment));
  KeepFirst(report, row);
  return absl::OkStatus();
}

absl::Status SelectBlocks(const PublishParams& params, PublishRow& row) {
  const int32_t blocks = std::max(cpu::BlockCount(row.length, params.block_size), 1);
  std::vector<float> keys(blocks);
  int32_t block_count = 0;
  SegmentReport report;
  BlockAmaxSegment amax;
  amax.scores = row.scores;
  amax.row_stride = amax.columns = std::max(row.length, 1);
  amax.rows = 1;
  amax.lengths = &row.length;
  amax.keys = keys.data();
  amax.keys_row_stride = amax.keys_columns = blocks;
  amax.block_counts = &block_count;
  amax.report = &report;
  WINNOW_RETURN_IF_ERROR(BlockAmax({.dtype = params.dtype, .block_size = params.block_size}, amax));
  TopKSegment select;
  select.scores = keys.data();
  select.row_stride = select.columns = blocks;
  select.rows = 1;
  select.lengths = &block_count;
  select.indices = row.blocks.data();
  select.indices_row_stride = params.k_blocks;
  select.report = &report;
  return TopK({.dtype = DType::kFloat32, .k = params.k_blocks, .deterministic = true}, select);
}

absl::Status SortBlocks(const PublishParams& params, PublishRow& row) {
  SegmentReport report;
  SortBlocksSegment segment;
  segment.blocks = segment.out_blocks = row.blocks.data();
  segment.blocks_row_stride = segment.out_blocks_row_stride = params.k_blocks;
  segment.rows = 1;
  segment.lengths = &row.length;
  segment.pages = row.pages;
  if (row.wants_block_slots) segment.block_slots = row.block_slots.data();
  segment.block_slots_row_stride = params.k_blocks;
  segment.candidate_lengths = &row.candidate_length;
  segment.report = &report;
  WINNOW_RETURN_IF_ERROR(
      SortCandidateBlocks({.width = params.k_blocks, .block_size = params.block_size}, segment));
  KeepFirst(report, row);
  return absl::OkStatus();
}

void CopyOut(const std::vector<int32_t>& from, int32_t* base, int64_t row_stride, int32_t row) {
  if (base != nullptr) std::copy(from.begin(), from.end(), base + row * row_stride);
}

}  // namespace

absl::Status PublishCandidates(const PublishParams& params, const PublishSegment& segment) {
  WINNOW_RETURN_IF_ERROR(CheckPublish(params, {&segment, 1}));
  cpu::FaultSink faults(segment.report);
  for (int32_t row = 0; row < segment.rows; ++row) {
    const cpu::RowWindow window = cpu::FindWindow(segment, row);
    faults.Record(window.fault);
    if (window.negative) ++segment.report->negative_rows;
    PublishRow work;
    work.scores = cpu::RowAt(segment.scores, params.dtype, segment.row_stride, row);
    work.length = window.length;
    if (window.pages != nullptr) {
      work.pages = segment.pages;
      work.pages.page_table = window.pages;
      work.pages.page_table_rows = nullptr;
      work.pages.table_rows = 1;
      work.wants_slots = segment.slots != nullptr;
      work.wants_block_slots = segment.block_slots != nullptr;
    }
    work.indices.assign(params.k, kPaddingIndex);
    work.slots.assign(params.k, kPaddingIndex);
    work.blocks.assign(params.k_blocks, -1);
    work.block_slots.assign(params.k_blocks, kPaddingBlock);
    WINNOW_RETURN_IF_ERROR(SelectTokens(params, work));
    WINNOW_RETURN_IF_ERROR(SelectBlocks(params, work));
    WINNOW_RETURN_IF_ERROR(SortBlocks(params, work));
    work.fault.row = row;
    faults.Record(work.fault);
    CopyOut(work.indices, segment.indices, segment.indices_row_stride, row);
    CopyOut(work.slots, segment.slots, segment.slots_row_stride, row);
    CopyOut(work.blocks, segment.blocks, segment.blocks_row_stride, row);
    CopyOut(work.block_slots, segment.block_slots, segment.block_slots_row_stride, row);
    if (segment.candidate_lengths != nullptr) {
      segment.candidate_lengths[row] = work.candidate_length;
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow::reference
