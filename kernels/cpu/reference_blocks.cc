// BlockAmax and SortCandidateBlocks as docs/operations.md tells them. Next: reference_publish.cc
// for the chain made of them.

#include <cmath>
#include <limits>
#include <set>

#include "kernels/cpu/row_rules.h"
#include "winnow/kernels/reference.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::reference {
namespace {

// The distinct ids that a row's output lists. Bad ids are reported and dropped.
std::set<int32_t> KeptBlocks(const SortBlocksParams& params, const SortBlocksSegment& segment,
                             int32_t row, int32_t blocks, cpu::FaultSink& faults) {
  std::set<int32_t> kept;
  if (blocks <= params.width) {
    for (int32_t id = 0; id < blocks; ++id) kept.insert(id);
    return kept;
  }
  for (int32_t i = 0; i < params.width; ++i) {
    const int32_t id = segment.blocks[row * segment.blocks_row_stride + i];
    if (id >= 0 && id < blocks) {
      kept.insert(id);
    } else if (id != -1) {
      FaultRecord fault;
      fault.kind = static_cast<int32_t>(FaultKind::kBlockIdOutOfRange);
      fault.row = row;
      fault.entry = i;
      fault.value = id;
      fault.limit = blocks;
      faults.Record(fault);
    }
  }
  return kept;
}

}  // namespace

absl::Status BlockAmax(const BlockAmaxParams& params, const BlockAmaxSegment& segment) {
  WINNOW_RETURN_IF_ERROR(CheckBlockAmax(params, {&segment, 1}));
  cpu::FaultSink faults(segment.report);
  for (int32_t row = 0; row < segment.rows; ++row) {
    const cpu::RowWindow window = cpu::FindWindow(params, segment, row);
    faults.Record(window.fault);
    if (window.negative) ++segment.report->negative_rows;
    const int32_t blocks = cpu::BlockCount(window.length, params.block_size);
    if (segment.block_counts != nullptr) segment.block_counts[row] = blocks;
    if (blocks == 0 || blocks <= params.skip_at_most) continue;
    const void* scores = cpu::RowAt(segment.scores, params.dtype, segment.row_stride, row);
    float* keys = segment.keys + row * segment.keys_row_stride;
    for (int32_t block = 0; block < blocks - 1; ++block) {
      float key = std::numeric_limits<float>::quiet_NaN();
      for (int32_t i = 0; i < params.block_size; ++i) {
        const float score =
            cpu::LoadScore(params.dtype, scores, int64_t{block} * params.block_size + i);
        if (cpu::RanksAbove(score, key)) key = score;
      }
      // A zero of either sign becomes +0.
      keys[block] = key + 0.0f;
    }
    keys[blocks - 1] = std::numeric_limits<float>::infinity();
  }
  return absl::OkStatus();
}

absl::Status SortCandidateBlocks(const SortBlocksParams& params, const SortBlocksSegment& segment) {
  WINNOW_RETURN_IF_ERROR(CheckSortBlocks(params, {&segment, 1}));
  cpu::FaultSink faults(segment.report);
  const cpu::SlotMapper mapper(segment.pages, segment.pages.page_size / params.block_size);
  for (int32_t row = 0; row < segment.rows; ++row) {
    const cpu::RowWindow window = cpu::FindWindow(params, segment, row);
    faults.Record(window.fault);
    if (window.negative) ++segment.report->negative_rows;
    const int32_t blocks = cpu::BlockCount(window.length, params.block_size);
    const std::set<int32_t> kept = KeptBlocks(params, segment, row, blocks, faults);
    int32_t i = 0;
    for (const int32_t id : kept) {
      segment.out_blocks[row * segment.out_blocks_row_stride + i] = id;
      if (segment.block_slots != nullptr) {
        FaultRecord fault;
        fault.row = row;
        const int32_t slot = mapper.Map(window.pages, id, &fault);
        faults.Record(fault);
        segment.block_slots[row * segment.block_slots_row_stride + i] =
            slot < 0 ? kPaddingBlock : slot;
      }
      ++i;
    }
    for (; i < params.width; ++i) {
      segment.out_blocks[row * segment.out_blocks_row_stride + i] = kPaddingBlock;
      if (segment.block_slots != nullptr) {
        segment.block_slots[row * segment.block_slots_row_stride + i] = kPaddingBlock;
      }
    }
    if (segment.candidate_lengths != nullptr) {
      segment.candidate_lengths[row] =
          cpu::CandidateLength(window.length, static_cast<int32_t>(kept.size()), params.block_size);
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow::reference
