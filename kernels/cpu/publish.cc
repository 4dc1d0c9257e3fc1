// PublishCandidates on the CPU: both levels of a row while it is in the cache.

#include <algorithm>
#include <vector>

#include "kernels/cpu/block_keys.h"
#include "kernels/cpu/engine.h"
#include "kernels/cpu/row_batch.h"
#include "kernels/cpu/row_output.h"
#include "kernels/cpu/select_row.h"

namespace winnow::cpu {
namespace {

// Block keys of one row; the calling thread's, kept and reused.
float* KeysOfThisThread(int32_t blocks) {
  thread_local std::vector<float> keys;
  if (keys.size() < static_cast<size_t>(blocks)) keys.resize(blocks);
  return keys.data();
}

class PublishRow {
 public:
  PublishRow(const Engine& engine, const PublishParams& params, const PublishSegment& segment,
             int32_t row, const RowWindow& window, WorkerPool* pool)
      : engine_(engine),
        params_(params),
        segment_(segment),
        row_(row),
        window_(window),
        pool_(pool),
        scores_{params.dtype, RowAt(segment.scores, params.dtype, segment.row_stride, row),
                window.length},
        selector_(RowSelector::OfThisThread(engine.kernels)) {
    fault_.row = row;
  }

  // Returns the first fault among the row's page ids.
  FaultRecord Run() {
    if (segment_.indices != nullptr || segment_.slots != nullptr) WriteTokens();
    if (segment_.blocks != nullptr || segment_.block_slots != nullptr) WriteBlockTable();
    if (segment_.candidate_lengths != nullptr) {
      const int32_t blocks = BlockCount(window_.length, params_.block_size);
      segment_.candidate_lengths[row_] =
          CandidateLength(window_.length, std::min(blocks, params_.k_blocks), params_.block_size);
    }
    return fault_;
  }

 private:
  Selection Select(const ScoreRow& row, int32_t k) {
    if (row.length <= k) return selector_.SelectFirst(row.length);
    return pool_ == nullptr ? selector_.Select(row, k) : selector_.SelectShared(row, k, *pool_);
  }

  void WriteTokens() {
    Selection tokens;
    if (params_.order == Order::kScore) {
      if (scores_.length <= params_.k) {
        selector_.SelectAll(scores_);
      } else {
        Select(scores_, params_.k);
      }
      tokens = selector_.SortByScore();
    } else {
      tokens = Select(scores_, params_.k);
    }
    if (segment_.indices != nullptr) {
      WriteIndices(tokens, 0, params_.k, segment_.indices + row_ * segment_.indices_row_stride);
    }
    if (segment_.slots != nullptr) {
      WriteSlots(SlotMapper(segment_.pages, segment_.pages.page_size), window_.pages, tokens,
                 params_.k, kPaddingIndex, segment_.slots + row_ * segment_.slots_row_stride,
                 &fault_);
    }
  }

  // Selections ascend, so the blocks need no sorting.
  void WriteBlockTable() {
    const int32_t blocks = BlockCount(window_.length, params_.block_size);
    Selection kept;
    if (blocks <= params_.k_blocks) {
      kept = selector_.SelectFirst(blocks);
    } else {
      float* const keys = KeysOfThisThread(blocks);
      WriteBlockKeys(engine_.kernels, scores_, params_.block_size, pool_, keys);
      kept = Select({DType::kFloat32, keys, blocks}, params_.k_blocks);
    }
    if (segment_.blocks != nullptr) {
      WriteBlocks(kept, params_.k_blocks, segment_.blocks + row_ * segment_.blocks_row_stride);
    }
    if (segment_.block_slots != nullptr) {
      WriteSlots(SlotMapper(segment_.pages, segment_.pages.page_size / params_.block_size),
                 window_.pages, kept, params_.k_blocks, kPaddingBlock,
                 segment_.block_slots + row_ * segment_.block_slots_row_stride, &fault_);
    }
  }

  const Engine& engine_;
  const PublishParams& params_;
  const PublishSegment& segment_;
  const int32_t row_;
  const RowWindow& window_;
  WorkerPool* const pool_;
  const ScoreRow scores_;
  RowSelector& selector_;
  FaultRecord fault_;
};

}  // namespace

void RunPublish(const Engine& engine, const PublishParams& params,
                absl::Span<const PublishSegment> segments) {
  RowBatch batch(segments, engine.pool);
  batch.ForEachRow([&](BatchRow at, WorkerPool* pool) {
    const PublishSegment& segment = segments[at.segment];
    const RowWindow window = FindWindow(segment, at.row);
    batch.RecordFault(at.segment, window.fault);
    PublishRow row(engine, params, segment, at.row, window, pool);
    batch.RecordFault(at.segment, row.Run());
  });
}

}  // namespace winnow::cpu
