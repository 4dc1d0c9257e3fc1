// Checks of single fields that the operations' checks are made of. Private to the library.

#ifndef WINNOW_KERNELS_FIELD_CHECKS_H_
#define WINNOW_KERNELS_FIELD_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/operations.h"

namespace winnow::internal {

// A matrix of a segment, by the names of the fields that describe it.
struct MatrixField {
  absl::string_view name;         // of the pointer
  absl::string_view stride_name;  // of its row stride
  const void* base = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;  // elements
  int64_t element_bytes = 0;
};

// InvalidArgument FIELD_MISSING.
absl::Status MissingField(absl::string_view field, absl::string_view why);

// `reason` unless low <= value <= high.
absl::Status CheckRange(ErrorReason reason, absl::string_view field, int64_t value, int64_t low,
                        int64_t high);

// Present, aligned to its element, with a stride that holds its columns, and inside the address
// space.
absl::Status CheckMatrix(const MatrixField& matrix);

// Aligned, and not null when `required`.
absl::Status CheckPointer(absl::string_view field, const void* pointer, int64_t alignment,
                          bool required);

absl::Status CheckScoreDtype(DType dtype);
absl::Status CheckOrder(Order order);
absl::Status CheckBlockSize(int32_t block_size);
absl::Status CheckSegmentCount(size_t count);

// Page transform of a segment of `rows` rows: null table is fine unless `needed_by` names an output
// that needs it.
absl::Status CheckPages(const PageTransform& pages, int64_t rows, absl::string_view needed_by);

// page_size >= block_size, which block slots need.
absl::Status CheckPagesHoldBlocks(const PageTransform& pages, int32_t block_size);

// Runs `check` on each segment; errors carry "segments[i]." when there are several.
template <typename Segments, typename Check>
absl::Status CheckEach(const Segments& segments, Check check) {
  for (size_t i = 0; i < segments.size(); ++i) {
    absl::Status status = check(segments[i]);
    if (status.ok()) continue;
    if (segments.size() == 1) return status;
    return WithFieldPrefix("segments[" + std::to_string(i) + "].", status);
  }
  return absl::OkStatus();
}

}  // namespace winnow::internal

#endif  // WINNOW_KERNELS_FIELD_CHECKS_H_
