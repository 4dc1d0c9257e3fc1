// The rows of all segments of one operation as one numbered list, so that threads can share them.

#ifndef WINNOW_KERNELS_CPU_ROW_BATCH_H_
#define WINNOW_KERNELS_CPU_ROW_BATCH_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/cpu/row_rules.h"
#include "kernels/cpu/worker_pool.h"

namespace winnow::cpu {

struct BatchRow {
  int32_t segment = 0;
  int32_t row = 0;
};

class RowBatch {
 public:
  // Counts the negative lengths into the segments' reports, too. `pool` must outlive the batch.
  template <typename Segment>
  RowBatch(absl::Span<const Segment> segments, WorkerPool& pool) : pool_(pool) {
    for (const Segment& segment : segments) Add(segment.lengths, segment.rows, segment.report);
    ShareLongRows();
  }

  // Rows of `segment` longer than `threshold` are shared among threads. At first the heuristic of
  // plan.h decides.
  void SetThreshold(int32_t segment, int32_t threshold) { parts_[segment].threshold = threshold; }
  // No row is shared.
  void ShareNone();

  // Calls `work` once for each row, on several threads when there is enough to do, with a null
  // pool; then for each row to be shared, one after another on this thread, with the pool.
  void ForEachRow(absl::FunctionRef<void(BatchRow, WorkerPool*)> work) const;

  // Does nothing for a record without a fault. Thread-safe.
  void RecordFault(int32_t segment, const FaultRecord& fault);

 private:
  struct Part {
    int64_t first_row = 0;
    int32_t rows = 0;
    const int32_t* lengths = nullptr;
    int32_t threshold = 0;
  };

  void Add(const int32_t* lengths, int32_t rows, SegmentReport* report);
  void ShareLongRows();
  BatchRow At(int64_t index) const;
  bool IsShared(BatchRow at) const {
    return parts_[at.segment].lengths[at.row] > parts_[at.segment].threshold;
  }

  WorkerPool& pool_;
  std::vector<Part> parts_;
  int64_t rows_ = 0;
  int64_t scores_ = 0;  // sum of the positive lengths
  std::mutex mutex_;    // guards what faults_ write
  std::vector<FaultSink> faults_;
};

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_ROW_BATCH_H_
