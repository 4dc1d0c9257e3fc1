// The last steps of every route: rows that need no selection, the exact fallback, the order of the
// output, and the writing.

#ifndef WINNOW_KERNELS_CUDA_BLOCK_FINISH_ROW_CUH_
#define WINNOW_KERNELS_CUDA_BLOCK_FINISH_ROW_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/block/exact_row.cuh"
#include "kernels/cuda/block/order_selection.cuh"
#include "kernels/cuda/block/row_output.cuh"
#include "kernels/cuda/block/select_candidates.cuh"
#include "kernels/cuda/block/topk_batch.h"
#include "kernels/cuda/block/topk_row.cuh"
#include "kernels/cuda/primitives/thread_index.cuh"

namespace winnow::cuda {

// What finishing a row needs besides the scratch of its selection.
template <int kMaxResults>
struct FinishShared {
  RowOutput output;
  ExactRowShared exact;
  uint32_t plateau;  // the key below the candidates' whose scores were left out; 0: none
  uint32_t selected[kMaxResults];
};

// Orders and writes finish.selected[0, k). `scratch` holds kMaxK items. All threads call it after a
// barrier. No barrier at its end.
template <typename Score, int kThreads, int kMaxResults>
__device__ __forceinline__ void WriteOrdered(const TopKBatch& batch,
                                             FinishShared<kMaxResults>& finish,
                                             HistogramShared<kThreads>& histogram,
                                             uint64_t* scratch) {
  OrderSelection<Score, kThreads>(histogram, scratch, finish.selected, batch.k,
                                  static_cast<Order>(batch.order), finish.output.scores,
                                  finish.output.length);
  WriteSelection<Score, kThreads>(finish.output, finish.selected, batch.k, batch.k);
}

// Writes a row of at most k scores: all of them, in ascending order of positions unless the order
// is by score. All threads call it after the barrier that publishes finish.output.
template <typename Score, int kThreads, int kMaxResults>
__device__ __forceinline__ void WriteShortRow(const TopKBatch& batch,
                                              FinishShared<kMaxResults>& finish,
                                              HistogramShared<kThreads>& histogram,
                                              uint64_t* scratch) {
  const int32_t length = finish.output.length;
  if (static_cast<Order>(batch.order) != Order::kScore) {
    WriteIdentity<Score, kThreads>(finish.output, length, batch.k);
    return;
  }
  for (int32_t i = ThreadIndex(); i < length; i += kThreads) finish.selected[i] = i;
  __syncthreads();
  OrderSelection<Score, kThreads>(histogram, scratch, finish.selected, length, Order::kScore,
                                  finish.output.scores, length);
  WriteSelection<Score, kThreads>(finish.output, finish.selected, length, batch.k);
}

// The row when candidates[0, count) are fewer than k. Where finish.plateau is set they are all its
// scores above that: they win, and so do the lowest positions of the plateau. Should there be none,
// or too few, the whole row is selected exactly. All threads call it after a barrier; ends with a
// barrier.
template <int kLoads, typename Score, int kThreads, int kMaxResults>
__device__ __forceinline__ void SelectBelowThreshold(FinishShared<kMaxResults>& finish,
                                                     HistogramShared<kThreads>& histogram,
                                                     const Candidate* candidates, uint32_t count,
                                                     uint32_t k, bool deterministic) {
  const uint32_t plateau = finish.plateau;
  if (plateau != 0) {
    for (uint32_t i = ThreadIndex(); i < count; i += kThreads) {
      finish.selected[i] = candidates[i].position;
    }
    const RowVectors<Score> row(finish.output.scores, finish.output.length);
    const uint32_t found = CollectLowestTies<kLoads>(
        histogram, row, RankBracket{plateau, plateau, 0, 0}, count, k - count, finish.selected);
    __syncthreads();
    if (found == k - count) return;
  }
  SelectExactRow<Score, kThreads>(histogram, finish.exact, finish.output.scores,
                                  finish.output.length, k, deterministic, finish.selected);
}

// The same as a call: what normal rows need lies closer together without it.
template <typename Score, int kThreads, int kMaxResults>
__device__ __noinline__ void CallSelectBelowThreshold(FinishShared<kMaxResults>& finish,
                                                      HistogramShared<kThreads>& histogram,
                                                      const Candidate* candidates, uint32_t count,
                                                      uint32_t k, bool deterministic) {
  SelectBelowThreshold<4, Score>(finish, histogram, candidates, count, k, deterministic);
}

// Selects from candidates[0, count), which hold the row's k best if there are at least k of them,
// into finish.selected. All threads call it after a barrier before which they shared the
// candidates' extremes; ends with a barrier. What is needed of the row comes from shared memory: no
// register is held for it across the scan.
// kCalls: rare ways are calls, with which long rows are faster and short ones slower.
template <typename Score, bool kCalls, int kThreads, int kMaxResults>
__device__ __forceinline__ void SelectRow(const TopKBatch& batch, FinishShared<kMaxResults>& finish,
                                          SelectShared<kThreads>& select,
                                          const Candidate* candidates, int32_t count) {
  if (count >= batch.k) {
    SelectCandidates(select, candidates, count, static_cast<uint32_t>(batch.k), batch.deterministic,
                     finish.selected);
  } else if constexpr (kCalls) {
    CallSelectBelowThreshold<Score>(finish, select.histogram, candidates,
                                    static_cast<uint32_t>(count), static_cast<uint32_t>(batch.k),
                                    batch.deterministic);
  } else {
    SelectBelowThreshold<1, Score>(finish, select.histogram, candidates,
                                   static_cast<uint32_t>(count), static_cast<uint32_t>(batch.k),
                                   batch.deterministic);
  }
}

// As SelectRow; then orders and writes, and the candidates are overwritten. No barrier at its end.
template <typename Score, bool kCalls, int kThreads, int kMaxResults>
__device__ __forceinline__ void FinishRow(const TopKBatch& batch, FinishShared<kMaxResults>& finish,
                                          SelectShared<kThreads>& select, Candidate* candidates,
                                          int32_t count) {
  SelectRow<Score, kCalls>(batch, finish, select, candidates, count);
  WriteOrdered<Score, kThreads>(batch, finish, select.histogram,
                                reinterpret_cast<uint64_t*>(candidates));
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_FINISH_ROW_CUH_
