#include "server/backend/strided_region.h"

#include "server/base/checked_math.h"

namespace winnow::server {

StridedRegion MakeStridedRegion(const std::byte* data, int64_t rows, int64_t columns,
                                int64_t row_stride, DType dtype) {
  StridedRegion region{.begin = reinterpret_cast<uintptr_t>(data)};
  region.rows = rows;
  region.width = columns * SizeOf(dtype);
  region.stride = SaturatingMultiply(row_stride, SizeOf(dtype));
  region.end = region.begin + CheckedExtent(rows, columns, row_stride).value_or(0) * SizeOf(dtype);
  return region;
}

bool Overlap(const StridedRegion& a, const StridedRegion& b) {
  if (a.begin >= b.end || b.begin >= a.end) return false;
  if ((a.rows == 1 && b.rows == 1) || (a.rows > 1 && b.rows > 1 && a.stride != b.stride)) {
    return true;
  }
  const int64_t stride = a.rows > 1 ? a.stride : b.stride;
  const StridedRegion& low = a.begin <= b.begin ? a : b;
  const StridedRegion& high = a.begin <= b.begin ? b : a;
  const auto offset = static_cast<int64_t>((high.begin - low.begin) % stride);
  return offset < low.width || offset + high.width > stride;
}

}  // namespace winnow::server
