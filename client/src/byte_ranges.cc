#include "client/src/byte_ranges.h"

#include <algorithm>
#include <iterator>

namespace winnow::client {
namespace {

// Calls `piece(begin, end)` for each row until it returns false; rows without gaps are one piece.
template <typename Piece>
void ForEachPiece(const StridedBytes& bytes, Piece piece) {
  if (bytes.offset < 0 || bytes.rows < 1 || bytes.row_bytes < 1) return;
  int64_t span = 0;
  int64_t end = 0;
  if (__builtin_mul_overflow(bytes.rows - 1, bytes.stride_bytes, &span) ||
      __builtin_add_overflow(span, bytes.row_bytes, &span) ||
      __builtin_add_overflow(bytes.offset, span, &end) || span < 1) {
    return;
  }
  if (bytes.stride_bytes <= bytes.row_bytes) {
    piece(bytes.offset, end);
    return;
  }
  for (int64_t row = 0; row < bytes.rows; ++row) {
    const int64_t begin = bytes.offset + row * bytes.stride_bytes;
    if (!piece(begin, begin + bytes.row_bytes)) return;
  }
}

}  // namespace

void ByteRanges::Add(int64_t begin, int64_t end) {
  if (begin < 0 || begin >= end) return;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace(begin, end);
}

void ByteRanges::Remove(int64_t begin, int64_t end) {
  if (begin >= end) return;
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second > begin) --range;
  while (range != ranges_.end() && range->first < end) {
    const auto [old_begin, old_end] = *range;
    range = ranges_.erase(range);
    if (old_begin < begin) ranges_.emplace(old_begin, begin);
    if (old_end > end) range = ranges_.emplace(end, old_end).first;
  }
}

void ByteRanges::Remove(const StridedBytes& bytes) {
  ForEachPiece(bytes, [this](int64_t begin, int64_t end) {
    Remove(begin, end);
    return !empty();
  });
}

bool ByteRanges::Intersects(int64_t begin, int64_t end) const {
  if (begin >= end) return false;
  const auto next = ranges_.lower_bound(end);
  return next != ranges_.begin() && std::prev(next)->second > begin;
}

bool ByteRanges::Intersects(const StridedBytes& bytes) const {
  bool found = false;
  if (empty()) return false;
  ForEachPiece(bytes, [&](int64_t begin, int64_t end) {
    found = Intersects(begin, end);
    return !found;
  });
  return found;
}

}  // namespace winnow::client
