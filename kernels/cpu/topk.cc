// TopK on the CPU: which rows several threads share, and what each row writes.

#include <cstring>

#include "kernels/cpu/engine.h"
#include "kernels/cpu/row_batch.h"
#include "kernels/cpu/row_output.h"
#include "kernels/cpu/select_row.h"

namespace winnow::cpu {
namespace {

Selection SelectInOrder(RowSelector& selector, const TopKParams& params, const ScoreRow& row,
                        WorkerPool* pool) {
  if (row.length <= params.k) {
    if (params.order != Order::kScore) return selector.SelectFirst(row.length);
    selector.SelectAll(row);
    return selector.SortByScore();
  }
  const Selection selection = pool == nullptr ? selector.Select(row, params.k)
                                              : selector.SelectShared(row, params.k, *pool);
  return params.order == Order::kScore ? selector.SortByScore() : selection;
}

// Returns the first fault among the row's page ids.
FaultRecord WriteRow(const TopKParams& params, const TopKSegment& segment, int32_t row,
                     const RowWindow& window, const void* scores, Selection selection) {
  FaultRecord fault;
  fault.row = row;
  if (segment.indices != nullptr) {
    WriteIndices(selection, window.offset, params.k,
                 segment.indices + row * segment.indices_row_stride);
  }
  if (segment.slots != nullptr) {
    const SlotMapper mapper(segment.pages, segment.pages.page_size);
    WriteSlots(mapper, window.pages, selection, params.k, kPaddingIndex,
               segment.slots + row * segment.slots_row_stride, &fault);
  }
  if (segment.values != nullptr) {
    WriteValues(params.dtype, scores, selection, params.k,
                static_cast<char*>(segment.values) +
                    row * segment.values_row_stride * SizeOf(params.dtype));
  }
  return fault;
}

}  // namespace

void RunTopK(const Engine& engine, const TopKParams& params,
             absl::Span<const TopKSegment> segments) {
  RowBatch batch(segments, engine.pool);
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].plan == nullptr) continue;
    PlanHeader header;
    std::memcpy(&header, segments[i].plan, sizeof(header));
    batch.SetThreshold(static_cast<int32_t>(i), header.effective_threshold);
  }
  batch.ForEachRow([&](BatchRow at, WorkerPool* pool) {
    const TopKSegment& segment = segments[at.segment];
    const RowWindow window = FindWindow(params, segment, at.row);
    batch.RecordFault(at.segment, window.fault);
    const auto* row =
        static_cast<const char*>(RowAt(segment.scores, params.dtype, segment.row_stride, at.row));
    const ScoreRow scores{params.dtype, row + window.start * SizeOf(params.dtype), window.length};
    RowSelector& selector = RowSelector::OfThisThread(engine.kernels);
    const Selection selection = SelectInOrder(selector, params, scores, pool);
    batch.RecordFault(at.segment,
                      WriteRow(params, segment, at.row, window, scores.scores, selection));
  });
}

}  // namespace winnow::cpu
