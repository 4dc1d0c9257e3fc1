// The k largest scores of one row, exactly, in about one pass over the row.
//
// A stratified sample gives a threshold that a little more than k scores reach; one pass that only
// compares lists those scores; a selection among them finishes. When the list fills up, the k best
// of it stay and the threshold rises above the worst of them; when it ends with fewer than k, the
// pass is repeated with a lower threshold. So the sample decides the time, never the result. Where
// the processor has vectors for it, bfloat16 rows of up to 64K scores take the same steps in 16
// bits first, and those above only if that fails. Next: row_kernels.h for the loops, topk.cc for
// how rows are handed out.

#ifndef WINNOW_KERNELS_CPU_SELECT_ROW_H_
#define WINNOW_KERNELS_CPU_SELECT_ROW_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "kernels/cpu/row_kernels.h"
#include "kernels/cpu/worker_pool.h"
#include "winnow/kernels/limits.h"

namespace winnow::cpu {

struct ScoreRow {
  DType dtype = DType::kFloat32;
  const void* scores = nullptr;
  int32_t length = 0;
};

// Positions in ascending order, valid until the selector is used again; of equal scores at the
// boundary the lowest positions are in it.
using Selection = absl::Span<const int32_t>;

// Scratch memory of one thread and the selection in it. Not thread-safe.
class RowSelector {
 public:
  explicit RowSelector(const RowKernels& kernels);

  // The selector of the calling thread, kept until the thread ends.
  static RowSelector& OfThisThread(const RowKernels& kernels);

  // 1 <= k <= kMaxK, k < row.length.
  Selection Select(const ScoreRow& row, int32_t k);

  // The same with the row's pieces shared among the pool's threads.
  Selection SelectShared(const ScoreRow& row, int32_t k, WorkerPool& pool);

  // Every position of a row of at most kMaxK scores. SelectFirst does not read the scores, and
  // cannot be sorted by them.
  Selection SelectAll(const ScoreRow& row);
  Selection SelectFirst(int32_t length);

  // Orders what was selected last by descending score, equal scores by ascending position.
  Selection SortByScore();

 private:
  // A list never holds more: enough for the largest k, four times what a threshold should give for
  // it, and one more chunk.
  static constexpr int32_t kCapacity = 12288;
  static constexpr int32_t kMaxSample = 4096;
  // Every candidate row of the two-level indexer fits, whatever its ties.
  static constexpr int32_t kHalfCapacity = 16384;

  struct List {
    alignas(64) int32_t positions[kCapacity + kVectorSlack];
    alignas(64) int32_t keys[kCapacity + kVectorSlack];
    Candidates Empty(int32_t capacity = kCapacity) { return {positions, keys, 0, capacity}; }
  };

  struct Threshold {
    float score = 0;
    // A list that grows longer than scores without ties would make it is shrunk early, which
    // raises the threshold past the ties.
    int32_t capacity = kCapacity;
  };

  Selection SelectShort(const ScoreRow& row, int32_t k);
  bool SelectHalves(const ScoreRow& row, int32_t k);
  void Sample(const ScoreRow& row);
  Threshold ChooseThreshold(int32_t length, int32_t k, int32_t attempt);
  void Collect(const ScoreRow& row, int32_t begin, int32_t end, int32_t k, float threshold,
               Candidates* candidates);
  void Shrink(int32_t k, Candidates* candidates, int32_t* kth);
  void AppendPieces(List* pieces, const int32_t* counts, int32_t piece_count, int32_t k,
                    Candidates* candidates);
  Selection Finish(const ScoreRow& row, int32_t k, Candidates candidates);
  void FillWithNan(const ScoreRow& row, int32_t k, Candidates* candidates);

  const RowKernels& kernels_;
  List list_;
  int32_t selected_ = 0;
  int32_t sample_size_ = 0;
  alignas(64) int32_t sample_[kMaxSample + kVectorSlack];
  alignas(64) int32_t work_[kCapacity + kVectorSlack];
  alignas(64) int32_t spare_[kCapacity + kVectorSlack];
  alignas(64) uint16_t half_positions_[kHalfCapacity + kVectorSlack];
  alignas(64) int16_t half_keys_[kHalfCapacity + kVectorSlack];
  std::unique_ptr<List[]> pieces_;  // of SelectShared
  int32_t piece_capacity_ = 0;
};

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_SELECT_ROW_H_
