// The bytes that a matrix with gaps occupies, and whether two of them share any.

#ifndef WINNOW_SERVER_BACKEND_STRIDED_REGION_H_
#define WINNOW_SERVER_BACKEND_STRIDED_REGION_H_

#include <cstddef>
#include <cstdint>

#include "winnow/kernels/dtype.h"

namespace winnow::server {

// Rows of `width` bytes every `stride` bytes, from `begin` to `end`.
struct StridedRegion {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  int64_t width = 0;
  int64_t stride = 0;
  int64_t rows = 0;
};

// `row_stride` in elements; the caller checked that the extent fits.
StridedRegion MakeStridedRegion(const std::byte* data, int64_t rows, int64_t columns,
                                int64_t row_stride, DType dtype);

// Regions of one stride may interleave, as the columns of one matrix do, and a single row may lie
// between two rows; any others overlap when their first to last bytes do.
bool Overlap(const StridedRegion& a, const StridedRegion& b);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_STRIDED_REGION_H_
