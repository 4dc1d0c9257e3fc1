// SortCandidateBlocks on the CPU: ids are marked in a bitmap, which is then read in order.

#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/cpu/engine.h"
#include "kernels/cpu/row_batch.h"
#include "kernels/cpu/row_output.h"

namespace winnow::cpu {
namespace {

// One bit for each block of the longest row.
constexpr int32_t kBitmapWords = kMaxColumns / kMinBlockSize / 64;

// What one thread needs; all bits are 0 between rows.
struct Scratch {
  std::vector<uint64_t> bitmap = std::vector<uint64_t>(kBitmapWords);
  std::vector<int32_t> kept = std::vector<int32_t>(kMaxK);
};

Scratch& OfThisThread() {
  thread_local Scratch scratch;
  return scratch;
}

// Marks the ids of the row. Returns the first bad one as a fault.
FaultRecord MarkIds(const int32_t* ids, int32_t width, int32_t blocks, int32_t row,
                    uint64_t* bitmap) {
  FaultRecord fault;
  for (int32_t i = 0; i < width; ++i) {
    const int32_t id = ids[i];
    if (id >= 0 && id < blocks) {
      bitmap[id >> 6] |= uint64_t{1} << (id & 63);
    } else if (id != -1 && fault.kind == static_cast<int32_t>(FaultKind::kNone)) {
      fault = {static_cast<int32_t>(FaultKind::kBlockIdOutOfRange), row, i, id, blocks};
    }
  }
  return fault;
}

// Lists the marked ids in ascending order, and clears the marks.
int32_t TakeMarks(int32_t blocks, uint64_t* bitmap, int32_t* kept) {
  int32_t count = 0;
  for (int32_t word = 0; word < (blocks + 63) / 64; ++word) {
    for (uint64_t marks = bitmap[word]; marks != 0; marks &= marks - 1) {
      kept[count++] = word * 64 + __builtin_ctzll(marks);
    }
    bitmap[word] = 0;
  }
  return count;
}

}  // namespace

void RunSortBlocks(const Engine& engine, const SortBlocksParams& params,
                   absl::Span<const SortBlocksSegment> segments) {
  RowBatch batch(segments, engine.pool);
  batch.ShareNone();
  batch.ForEachRow([&](BatchRow at, WorkerPool*) {
    const SortBlocksSegment& segment = segments[at.segment];
    const RowWindow window = FindWindow(params, segment, at.row);
    batch.RecordFault(at.segment, window.fault);
    const int32_t blocks = BlockCount(window.length, params.block_size);
    Scratch& scratch = OfThisThread();
    int32_t count = blocks;
    if (blocks <= params.width) {
      std::iota(scratch.kept.begin(), scratch.kept.begin() + blocks, 0);
    } else {
      const int32_t* ids = segment.blocks + at.row * segment.blocks_row_stride;
      batch.RecordFault(at.segment,
                        MarkIds(ids, params.width, blocks, at.row, scratch.bitmap.data()));
      count = TakeMarks(blocks, scratch.bitmap.data(), scratch.kept.data());
    }
    const absl::Span<const int32_t> kept(scratch.kept.data(), count);
    WriteBlocks(kept, params.width, segment.out_blocks + at.row * segment.out_blocks_row_stride);
    if (segment.block_slots != nullptr) {
      FaultRecord fault;
      fault.row = at.row;
      WriteSlots(SlotMapper(segment.pages, segment.pages.page_size / params.block_size),
                 window.pages, kept, params.width, kPaddingBlock,
                 segment.block_slots + at.row * segment.block_slots_row_stride, &fault);
      batch.RecordFault(at.segment, fault);
    }
    if (segment.candidate_lengths != nullptr) {
      segment.candidate_lengths[at.row] = CandidateLength(window.length, count, params.block_size);
    }
  });
}

}  // namespace winnow::cpu
