#include "kernels/cpu/row_batch.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/plan.h"

namespace winnow::cpu {
namespace {

// Waking a thread costs about what this many scores do.
constexpr int64_t kMinSharedScores = 65536;

// Rows are handed out in runs of about this much work, so that the counter is not fought over.
constexpr int64_t kScoresPerRun = 4096;
constexpr int64_t kRowCost = 64;  // what an empty row costs, in scores

}  // namespace

void RowBatch::Add(const int32_t* lengths, int32_t rows, SegmentReport* report) {
  parts_.push_back({.first_row = rows_, .rows = rows, .lengths = lengths});
  faults_.emplace_back(report);
  rows_ += rows;
  scores_ += TotalLength(lengths, rows);
  report->negative_rows += static_cast<int32_t>(
      std::count_if(lengths, lengths + rows, [](int32_t length) { return length < 0; }));
}

void RowBatch::ShareLongRows() {
  const Threshold threshold = ChooseThreshold(-1, pool_.threads(), scores_);
  for (Part& part : parts_) part.threshold = threshold.effective;
}

void RowBatch::ShareNone() {
  for (Part& part : parts_) part.threshold = std::numeric_limits<int32_t>::max();
}

BatchRow RowBatch::At(int64_t index) const {
  const auto next =
      std::upper_bound(parts_.begin(), parts_.end(), index,
                       [](int64_t value, const Part& part) { return value < part.first_row; });
  const auto segment = static_cast<int32_t>(next - parts_.begin()) - 1;
  return {segment, static_cast<int32_t>(index - parts_[segment].first_row)};
}

void RowBatch::ForEachRow(absl::FunctionRef<void(BatchRow, WorkerPool*)> work) const {
  const auto do_rows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (const BatchRow at = At(i); !IsShared(at)) work(at, nullptr);
    }
  };
  const int64_t cost = scores_ + rows_ * kRowCost;
  if (cost < kMinSharedScores) {
    do_rows(0, rows_);
  } else {
    const int64_t run = std::clamp<int64_t>(kScoresPerRun * rows_ / cost, 1, rows_);
    pool_.Run((rows_ + run - 1) / run,
              [&](int64_t index) { do_rows(index * run, std::min(rows_, (index + 1) * run)); });
  }
  for (int64_t i = 0; i < rows_; ++i) {
    if (const BatchRow at = At(i); IsShared(at)) work(at, &pool_);
  }
}

void RowBatch::RecordFault(int32_t segment, const FaultRecord& fault) {
  if (fault.kind == static_cast<int32_t>(FaultKind::kNone)) return;
  std::lock_guard<std::mutex> lock(mutex_);
  faults_[segment].Record(fault);
}

}  // namespace winnow::cpu
