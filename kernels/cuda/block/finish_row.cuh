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

namespace winnow::cuda {

// What finishing a row needs besides the scratch of its selection.
template <int kMaxResults>
struct FinishShared {
  RowOutput output;
  ExactRowShared exact;
  uint32_t selected[kMaxResults];
};

// Orders and writes finish.selected[0, k). `scratch` holds kMaxK items. All threads call it after a
// barrier. No barrier at its end.
template <typename Score, int kThreads, int kMaxResults>
__device__ __forceinline__ void WriteOrdered(const TopKBatch& batch, const RowWindow& window,
                                             FinishShared<kMaxResults>& finish,
                                             HistogramShared<kThreads>& histogram,
                                             uint64_t* scratch) {
  OrderSelection<Score, kThreads>(histogram, scratch, finish.selected, batch.k,
                                  static_cast<Order>(batch.order), window.scores);
  WriteSelection<Score, kThreads>(finish.output, finish.selected, batch.k, batch.k);
}

// Writes a row of at most k scores: all of them, in ascending order of positions unless the order
// is by score. All threads call it after the barrier that publishes finish.output.
template <typename Score, int kThreads, int kMaxResults>
__device__ __forceinline__ void WriteShortRow(const TopKBatch& batch, const RowWindow& window,
                                              FinishShared<kMaxResults>& finish,
                                              HistogramShared<kThreads>& histogram,
                                              uint64_t* scratch) {
  if (static_cast<Order>(batch.order) != Order::kScore) {
    WriteIdentity<Score, kThreads>(finish.output, window.length, batch.k);
    return;
  }
  for (int32_t i = threadIdx.x; i < window.length; i += kThreads) finish.selected[i] = i;
  __syncthreads();
  OrderSelection<Score, kThreads>(histogram, scratch, finish.selected, window.length, Order::kScore,
                                  window.scores);
  WriteSelection<Score, kThreads>(finish.output, finish.selected, window.length, batch.k);
}

// Selects from candidates[0, count), which hold the row's k best if there are at least k of them;
// the whole row is selected exactly otherwise. `low` and `high` as for SelectCandidates. Then
// orders and writes; the candidates are overwritten. All threads call it after a barrier.
template <typename Score, int kThreads, int kMaxResults>
__device__ __forceinline__ void FinishRow(const TopKBatch& batch, const RowWindow& window,
                                          FinishShared<kMaxResults>& finish,
                                          SelectShared<kThreads>& select, Candidate* candidates,
                                          int32_t count, uint32_t low, uint32_t high) {
  if (count >= batch.k) {
    SelectCandidates(select, candidates, count, static_cast<uint32_t>(batch.k), batch.deterministic,
                     low, high, finish.selected);
  } else {
    SelectExactRow<Score, kThreads>(select.histogram, finish.exact, window.scores, window.length,
                                    static_cast<uint32_t>(batch.k), batch.deterministic,
                                    finish.selected);
  }
  WriteOrdered<Score, kThreads>(batch, window, finish, select.histogram,
                                reinterpret_cast<uint64_t*>(candidates));
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_BLOCK_FINISH_ROW_CUH_
