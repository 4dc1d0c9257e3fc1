// Arithmetic on sizes that a caller chose: products and sums that do not fit say so.

#ifndef WINNOW_SERVER_BASE_CHECKED_MATH_H_
#define WINNOW_SERVER_BASE_CHECKED_MATH_H_

#include <cstdint>
#include <limits>
#include <optional>

namespace winnow::server {

// nullopt when the result does not fit 63 bits.
constexpr std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

constexpr std::optional<int64_t> CheckedMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// Elements from the first to the last of a row-major matrix, the gap after the last row left out:
// (rows - 1) * row_stride + columns; 0 for an empty matrix. nullopt when a dimension is negative or
// the result does not fit.
constexpr std::optional<int64_t> CheckedExtent(int64_t rows, int64_t columns, int64_t row_stride) {
  if (rows < 0 || columns < 0 || row_stride < 0) return std::nullopt;
  if (rows == 0 || columns == 0) return 0;
  const auto before_last_row = CheckedMultiply(rows - 1, row_stride);
  if (!before_last_row.has_value()) return std::nullopt;
  return CheckedAdd(*before_last_row, columns);
}

// `a + b` for counts of bytes or rows that only bound something: sticks at the largest value.
constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  return CheckedAdd(a, b).value_or(std::numeric_limits<int64_t>::max());
}

constexpr int64_t SaturatingMultiply(int64_t a, int64_t b) {
  return CheckedMultiply(a, b).value_or(std::numeric_limits<int64_t>::max());
}

// `value` rounded up to a multiple of `alignment`, a power of two; `value` is at most 2^62.
constexpr int64_t AlignUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BASE_CHECKED_MATH_H_
