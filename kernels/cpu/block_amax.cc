// BlockAmax on the CPU.

#include <algorithm>
#include <limits>

#include "kernels/cpu/block_keys.h"
#include "kernels/cpu/engine.h"
#include "kernels/cpu/row_batch.h"

namespace winnow::cpu {
namespace {

// Scores of a piece of a shared row.
constexpr int32_t kPieceScores = 65536;

}  // namespace

void WriteBlockKeys(const RowKernels& kernels, const ScoreRow& row, int32_t block_size,
                    WorkerPool* pool, float* keys) {
  const int32_t blocks = BlockCount(row.length, block_size);
  if (blocks == 0) return;
  const int32_t whole = blocks - 1;
  const int32_t shift = __builtin_ctz(static_cast<uint32_t>(block_size));
  const auto write = [&](int32_t begin, int32_t end) {
    const auto* scores =
        static_cast<const char*>(row.scores) + int64_t{begin} * block_size * SizeOf(row.dtype);
    kernels.block_max(row.dtype, scores, end - begin, shift, keys + begin);
  };
  if (pool == nullptr) {
    write(0, whole);
  } else {
    const int32_t piece_blocks = kPieceScores / block_size;
    pool->Run((whole + piece_blocks - 1) / piece_blocks, [&](int64_t piece) {
      const auto begin = static_cast<int32_t>(piece) * piece_blocks;
      write(begin, std::min(whole, begin + piece_blocks));
    });
  }
  // So that the newest block is always selected.
  keys[whole] = std::numeric_limits<float>::infinity();
}

void RunBlockAmax(const Engine& engine, const BlockAmaxParams& params,
                  absl::Span<const BlockAmaxSegment> segments) {
  RowBatch batch(segments, engine.pool);
  batch.ForEachRow([&](BatchRow at, WorkerPool* pool) {
    const BlockAmaxSegment& segment = segments[at.segment];
    const RowWindow window = FindWindow(params, segment, at.row);
    batch.RecordFault(at.segment, window.fault);
    const int32_t blocks = BlockCount(window.length, params.block_size);
    if (segment.block_counts != nullptr) segment.block_counts[at.row] = blocks;
    if (blocks <= params.skip_at_most) return;
    const void* scores = RowAt(segment.scores, params.dtype, segment.row_stride, at.row);
    WriteBlockKeys(engine.kernels, {params.dtype, scores, window.length}, params.block_size, pool,
                   segment.keys + at.row * segment.keys_row_stride);
  });
}

}  // namespace winnow::cpu
