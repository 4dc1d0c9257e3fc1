// What the operations read and write: one segment per request, so that requests of several clients
// share a launch without a copy. Plain data, the same bytes on the host and on the device; no
// segment owns memory.
//
// Every pointer except in the reference implementation is memory of the executing device. Row r of
// a matrix starts at `base + r * row_stride` elements, row_stride >= the columns used. Bases and
// strides need element alignment only. A null optional pointer means "absent"; nothing computes
// with it. Next: operations.h for the operations' parameters and rules, device.h for who executes
// them.

#ifndef WINNOW_KERNELS_SEGMENTS_H_
#define WINNOW_KERNELS_SEGMENTS_H_

#include <cstddef>
#include <cstdint>

namespace winnow {

// What a kernel found wrong in data that the host could not check before the launch.
//
// An empty row (length 0 or less) has nothing that can be wrong: its start, offset, table row and
// page ids are not looked at. For the others there are two levels of fault:
//   Row level (all kinds except the two below): the row is not selected, and every output of the
//     row gets padding: indices, slots, blocks and block slots their padding value, values -inf,
//     candidate_lengths and block_counts 0. BlockAmax leaves the row's keys untouched. When several
//     are found in one row, the first of this order counts: kPlanStale, kRowStartOutOfRange,
//     kLengthOutOfRange, kPageTableRowOutOfRange, kPageTableTooNarrow, kIndexOutOfRange;
//     kLengthOutOfRange, kKeysTooNarrow in BlockAmax. What concerns pages is looked at only if
//     slots are wanted (block slots in SortCandidateBlocks, either in PublishCandidates), offsets
//     only if indices are.
//   Entry level (kPageIdOutOfRange, kBlockIdOutOfRange): that entry alone gets padding, in the
//     slots alone for a page id; a bad block id is dropped as if it were -1. Only page ids of
//     selected positions are looked at, and no block id of a row whose blocks all fit (n <= width).
enum class FaultKind : int32_t {
  kNone = 0,
  // value: start + length; limit: columns (kMaxColumns in SortCandidateBlocks).
  kLengthOutOfRange = 1,
  kRowStartOutOfRange = 2,      // value: row start (negative, or past the columns); limit: columns
  kPageTableRowOutOfRange = 3,  // value: page_table_rows[row]; limit: rows of the table
  kPageTableTooNarrow = 4,      // value: pages that the row needs; limit: columns of the table
  // entry: table column; value: the id; limit: ids accepted, the lesser of pool_pages (if declared)
  // and 2^31 / page_size (2^31 / (page_size / block_size) for block slots), so that a slot fits
  // int32.
  kPageIdOutOfRange = 5,
  // entry: column of the block list; value: the id; limit: blocks of the row.
  kBlockIdOutOfRange = 6,
  kKeysTooNarrow = 7,    // value: blocks of the row; limit: columns of keys
  kIndexOutOfRange = 8,  // value: offset + last position; limit: INT32_MAX
  // entry 0: value is the row's length, limit the length that the plan was made for, both as given.
  // Otherwise the plan's header differs, and every row faults: entry 1 rows, 2 columns, 3 k,
  // 4 dtype.
  kPlanStale = 9,
};

// The first fault of one segment. `kind` is claimed once; the other fields belong to the claimer.
struct FaultRecord {
  int32_t kind = 0;  // FaultKind
  int32_t row = 0;   // row of the segment
  int64_t entry = 0;
  int64_t value = 0;
  int64_t limit = 0;
};

// Device-written result of one segment besides its tensors. The caller zeroes it before the launch.
struct SegmentReport {
  FaultRecord fault;
  int32_t negative_rows = 0;  // rows whose length was negative; they count as empty
  int32_t reserved = 0;
};

// Maps a position of a row to a slot: `page_table[table_row][position / page_size] * page_size +
// position % page_size`.
struct PageTransform {
  const int32_t* page_table = nullptr;  // [table_rows, table_columns]; null: no slots are made
  const int32_t* page_table_rows =
      nullptr;             // [rows], the table row of each score row; null: row r uses table row r
  int64_t row_stride = 0;  // elements
  int32_t table_rows = 0;
  int32_t table_columns = 0;
  int32_t page_size = 0;  // positions in a page; a power of two, 1 to kMaxPageSize
  int32_t pool_pages =
      0;  // ids must be below it; 0: not declared, ids need only give slots that fit int32
};

struct TopKSegment {
  const void* scores = nullptr;  // [rows, columns] of TopKParams::dtype; never written
  int64_t row_stride = 0;        // elements
  int32_t rows = 0;
  int32_t columns = 0;
  const int32_t* lengths = nullptr;        // [rows]; 0 or less: empty row
  const int32_t* row_starts = nullptr;     // [rows]; null: 0
  const int32_t* index_offsets = nullptr;  // [rows], added to positions in `indices`; null: 0
  PageTransform pages;
  int32_t* indices = nullptr;  // [rows, k]; null: not wanted
  int32_t* slots = nullptr;    // [rows, k]; null: not wanted; needs `pages`
  void* values = nullptr;      // [rows, k] of TopKParams::dtype; null: not wanted
  int64_t indices_row_stride = 0;
  int64_t slots_row_stride = 0;
  int64_t values_row_stride = 0;
  const std::byte* plan =
      nullptr;  // written by PlanTopK for these lengths; null: the operation plans for itself
  int32_t max_length = 0;  // routing hint: no length is believed to exceed it; 0: unknown. A wrong
                           // hint costs time only
  int32_t reserved = 0;
  SegmentReport* report = nullptr;  // never null
};

struct BlockAmaxSegment {
  const void* scores = nullptr;  // [rows, columns] of BlockAmaxParams::dtype; never written
  int64_t row_stride = 0;
  int32_t rows = 0;
  int32_t columns = 0;
  const int32_t* lengths = nullptr;  // [rows], positions
  float* keys = nullptr;             // [rows, keys_columns]
  int64_t keys_row_stride = 0;
  int32_t keys_columns = 0;
  int32_t reserved = 0;
  int32_t* block_counts =
      nullptr;  // [rows]: ceil(length / block_size), 0 for an empty row; null: not wanted
  SegmentReport* report = nullptr;
};

struct SortBlocksSegment {
  const int32_t* blocks = nullptr;  // [rows, width]; -1 ignored, duplicates collapse
  int64_t blocks_row_stride = 0;
  int32_t rows = 0;
  int32_t max_length = 0;            // as in TopKSegment
  const int32_t* lengths = nullptr;  // [rows], positions
  PageTransform pages;               // page_size >= block_size
  int32_t* out_blocks = nullptr;   // [rows, width], ascending; may be `blocks` with the same stride
  int32_t* block_slots = nullptr;  // [rows, width]; null: not wanted; needs `pages`
  int32_t* candidate_lengths = nullptr;  // [rows]; null: not wanted; see SortBlocksParams
  int64_t out_blocks_row_stride = 0;
  int64_t block_slots_row_stride = 0;
  SegmentReport* report = nullptr;
};

// The two outputs of level one and the token slots of level zero in one pass over the same scores;
// see PublishParams.
struct PublishSegment {
  const void* scores = nullptr;  // [rows, columns] of PublishParams::dtype; never written
  int64_t row_stride = 0;
  int32_t rows = 0;
  int32_t columns = 0;
  const int32_t* lengths = nullptr;      // [rows]
  PageTransform pages;                   // of positions
  int32_t* slots = nullptr;              // [rows, k]; null: not wanted
  int32_t* indices = nullptr;            // [rows, k]; null: not wanted
  int32_t* blocks = nullptr;             // [rows, k_blocks], ascending; null: not wanted
  int32_t* block_slots = nullptr;        // [rows, k_blocks]; null: not wanted
  int32_t* candidate_lengths = nullptr;  // [rows]; null: not wanted
  int64_t slots_row_stride = 0;
  int64_t indices_row_stride = 0;
  int64_t blocks_row_stride = 0;
  int64_t block_slots_row_stride = 0;
  int32_t max_length = 0;
  int32_t reserved = 0;
  SegmentReport* report = nullptr;
};

}  // namespace winnow

#endif  // WINNOW_KERNELS_SEGMENTS_H_
