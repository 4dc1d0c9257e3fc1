// The rules of one row that the reference and the CPU device share: what a row selects from, when
// it faults, how a position becomes a slot, and how scores compare. docs/operations.md is the text;
// segments.h says which fault counts first. Next: reference_topk.cc for the rules put to use.

#ifndef WINNOW_KERNELS_CPU_ROW_RULES_H_
#define WINNOW_KERNELS_CPU_ROW_RULES_H_

#include <cstdint>
#include <cstring>

#include "winnow/kernels/operations.h"
#include "winnow/kernels/segments.h"

namespace winnow::cpu {

// A row's part of the score matrix, or the fault that leaves it without an answer (then length is
// 0).
struct RowWindow {
  int64_t start = 0;               // first column
  int32_t length = 0;              // scores; 0: empty row
  int32_t offset = 0;              // added to positions in indices
  bool negative = false;           // the length was below 0
  const int32_t* pages = nullptr;  // the row's page ids; null when no slots are wanted
  FaultRecord fault;
};

RowWindow FindWindow(const TopKParams& params, const TopKSegment& segment, int32_t row);
RowWindow FindWindow(const BlockAmaxParams& params, const BlockAmaxSegment& segment, int32_t row);
RowWindow FindWindow(const SortBlocksParams& params, const SortBlocksSegment& segment, int32_t row);
RowWindow FindWindow(const PublishSegment& segment, int32_t row);

// Keeps the fault of the lowest row that one operation finds; a fault that the report held before
// the operation stays. Not thread-safe.
class FaultSink {
 public:
  explicit FaultSink(SegmentReport* report)
      : report_(report), closed_(report->fault.kind != static_cast<int32_t>(FaultKind::kNone)) {}
  void Record(const FaultRecord& fault);

 private:
  SegmentReport* report_;
  bool closed_;
};

// Maps positions through a page table whose pages hold `unit` positions: page_size for token slots,
// page_size / block_size for block slots.
class SlotMapper {
 public:
  SlotMapper(const PageTransform& pages, int32_t unit);
  // The slot of `position`, or -1 with `fault` filled (its row is the caller's to set).
  int32_t Map(const int32_t* page_row, int32_t position, FaultRecord* fault) const {
    const int32_t column = position >> shift_;
    const int32_t page = page_row[column];
    if (page < 0 || page >= limit_) {
      Fail(column, page, fault);
      return -1;
    }
    return static_cast<int32_t>((static_cast<int64_t>(page) << shift_) | (position & mask_));
  }

 private:
  void Fail(int32_t column, int32_t page, FaultRecord* fault) const;

  int32_t shift_ = 0;
  int32_t mask_ = 0;
  int64_t limit_ = 0;
};

// ceil(length / block_size), 0 for an empty row.
inline int32_t BlockCount(int32_t length, int32_t block_size) {
  return length <= 0 ? 0 : static_cast<int32_t>((int64_t{length} + block_size - 1) / block_size);
}

// Columns of the candidate matrix that `kept` ascending blocks of a row give.
inline int32_t CandidateLength(int32_t length, int32_t kept, int32_t block_size) {
  return kept <= 0 ? 0 : block_size * (kept - 1) + (length - 1) % block_size + 1;
}

inline float Bfloat16ToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

// Score `column` of a row that starts at `row`.
inline float LoadScore(DType dtype, const void* row, int64_t column) {
  if (dtype == DType::kBfloat16) {
    return Bfloat16ToFloat(static_cast<const uint16_t*>(row)[column]);
  }
  return static_cast<const float*>(row)[column];
}

// First element of row `row` of a matrix.
inline const void* RowAt(const void* base, DType dtype, int64_t row_stride, int64_t row) {
  return static_cast<const char*>(base) + row * row_stride * SizeOf(dtype);
}

// Whether score `a` ranks strictly above `b`: NaN < -inf < finite < +inf, zeros equal, NaNs equal.
inline bool RanksAbove(float a, float b) { return a > b || (a == a && b != b); }

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_ROW_RULES_H_
