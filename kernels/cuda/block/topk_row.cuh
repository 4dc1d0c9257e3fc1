// One row of a top-k launch: where its scores are, how long it is, where its results go, and what
// is wrong with it. Every route opens its row here, so that validation is the same in all of them.
// Next: row_output.cuh for how results are written.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_TOPK_ROW_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_TOPK_ROW_CUH_

#include <cuda_runtime.h>

#include <climits>
#include <cstdint>

#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/primitives/fault.cuh"
#include "kernels/cuda/primitives/page_transform.cuh"
#include "winnow/kernels/operations.h"

namespace winnow::cuda {

// What all threads need; uniform over the block.
struct RowWindow {
  const void* scores = nullptr;  // of position 0
  int32_t length = 0;            // valid positions; 0 for an empty row and for one with a fault
  int32_t pool_threshold = 0;    // longer rows are shared by several blocks
};

// Blocks that share a row of this window.
__device__ __forceinline__ int32_t PartsOf(const TopKBatch& batch, const RowWindow& window) {
  return window.length > window.pool_threshold ? batch.split : 1;
}

// What writing a row's results needs. Lives in shared memory: it is used once, at the end.
struct RowOutput {
  int32_t* indices;  // of this row; null: not wanted
  int32_t* slots;
  void* values;
  const void* scores;
  SegmentReport* report;
  int32_t length;  // as in RowWindow
  int32_t offset;  // added to positions in `indices`
  int32_t row;     // of the segment
  PageRow pages;
};

// Row `row` of `segment` against the plan that the segment carries. False when the plan was made
// for something else: the row then has no answer.
__device__ __forceinline__ bool MatchesPlan(const TopKBatch& batch, const TopKSegment& segment,
                                            int32_t row, int32_t length, bool reporter,
                                            int32_t& pool_threshold) {
  const PlanHeader& plan = *reinterpret_cast<const PlanHeader*>(segment.plan);
  const int32_t* plan_lengths = reinterpret_cast<const int32_t*>(segment.plan + sizeof(PlanHeader));
  pool_threshold = plan.effective_threshold;
  // Of the shape first: the plan's lengths may be read only where it has some.
  const auto same = [&](int field, int32_t now, int32_t then) {
    if (now == then) return true;
    if (reporter) ReportFault(segment.report, FaultKind::kPlanStale, row, field, now, then);
    return false;
  };
  if (!same(1, segment.rows, plan.rows) || !same(2, segment.columns, plan.columns) ||
      !same(3, batch.k, plan.k) || !same(4, batch.dtype, plan.dtype)) {
    return false;
  }
  return same(0, length, plan_lengths[row]);
}

// The window of row `row`; its page row and index offset go to `pages` and `offset`. Whatever is
// wrong with the row as a whole leaves it empty; `reporter`, true for one thread of the launch,
// says what. The first of several faults is that of kernels/cpu/row_rules.cc, the reference.
template <typename Bits>
__device__ __forceinline__ RowWindow OpenWindow(const TopKBatch& batch, const TopKSegment& segment,
                                                int32_t row, bool reporter, PageRow& pages,
                                                int32_t& offset) {
  RowWindow window;
  window.pool_threshold = batch.pool_threshold;
  // All loads first, so that they wait for memory together.
  const int32_t length = segment.lengths[row];
  const int32_t start = segment.row_starts == nullptr ? 0 : segment.row_starts[row];
  if (segment.indices != nullptr && segment.index_offsets != nullptr) {
    offset = segment.index_offsets[row];
  }
  if (length < 0 && reporter) CountNegativeRow(segment.report);
  if (segment.plan != nullptr &&
      !MatchesPlan(batch, segment, row, length, reporter, window.pool_threshold)) {
    return window;
  }
  if (length <= 0) return window;
  if (start < 0 || start > segment.columns) {
    if (reporter) {
      ReportFault(segment.report, FaultKind::kRowStartOutOfRange, row, 0, start, segment.columns);
    }
    return window;
  }
  if (length > segment.columns - start) {
    if (reporter) {
      ReportFault(segment.report, FaultKind::kLengthOutOfRange, row, 0,
                  static_cast<int64_t>(start) + length, segment.columns);
    }
    return window;
  }
  if (segment.slots != nullptr &&
      !OpenPageRow(segment.pages, row, length, reporter, segment.report, pages)) {
    return window;
  }
  const int64_t last = static_cast<int64_t>(offset) + length - 1;
  if (last > INT32_MAX) {
    if (reporter) {
      ReportFault(segment.report, FaultKind::kIndexOutOfRange, row, 0, last, INT32_MAX);
    }
    return window;
  }
  window.length = length;
  window.scores = static_cast<const Bits*>(segment.scores) + row * segment.row_stride + start;
  return window;
}

// A row as OpenRow finds it. All of it is uniform over the block.
struct OpenedRow {
  RowWindow window;
  PageRow pages;
  int32_t offset = 0;
  int32_t segment = 0;  // of the launch
  int32_t row = 0;      // of the segment
};

// Finds row `launch_row` of the launch and opens it. All threads of the block call it. Exactly one
// block of those that share a row says `reporting`.
template <typename Score>
__device__ __forceinline__ OpenedRow OpenRow(const TopKBatch& batch, int32_t launch_row,
                                             bool reporting) {
  using Bits = typename Score::Bits;
  const bool reporter = reporting && threadIdx.x == 0;
  OpenedRow opened;
  opened.row = launch_row;
  // Two calls, so that the single segment is read from the parameters and not through a pointer.
  if (batch.segment_count == 1) {
    opened.window =
        OpenWindow<Bits>(batch, batch.segment, launch_row, reporter, opened.pages, opened.offset);
    return opened;
  }
  opened.segment = batch.row_segments[launch_row];
  opened.row = launch_row - batch.first_rows[opened.segment];
  opened.window = OpenWindow<Bits>(batch, batch.segments[opened.segment], opened.row, reporter,
                                   opened.pages, opened.offset);
  return opened;
}

// Notes where the results of an opened row go, and asks for its page ids. One thread of one block
// calls it; valid after the block's next barrier.
template <typename Score>
__device__ __forceinline__ void FillOutput(const TopKBatch& batch, const OpenedRow& opened,
                                           RowOutput& output) {
  using Bits = typename Score::Bits;
  const auto fill = [&](const TopKSegment& segment) {
    const int64_t row = opened.row;
    output.indices =
        segment.indices == nullptr ? nullptr : segment.indices + row * segment.indices_row_stride;
    output.slots =
        segment.slots == nullptr ? nullptr : segment.slots + row * segment.slots_row_stride;
    output.values = segment.values == nullptr
                        ? nullptr
                        : static_cast<Bits*>(segment.values) + row * segment.values_row_stride;
    output.report = segment.report;
  };
  if (batch.segment_count == 1) {
    fill(batch.segment);
  } else {
    fill(batch.segments[opened.segment]);
  }
  output.scores = opened.window.scores;
  output.length = opened.window.length;
  output.offset = opened.offset;
  output.row = opened.row;
  output.pages = opened.pages;
  PrefetchPages(opened.pages, opened.window.length);
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_TOPK_ROW_CUH_
