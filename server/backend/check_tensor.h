// Checks of single tensors and fields of a work item. Private to the backend; CheckItem in
// work_key.h is the whole. Errors carry the field's path within its step.

#ifndef WINNOW_SERVER_BACKEND_CHECK_TENSOR_H_
#define WINNOW_SERVER_BACKEND_CHECK_TENSOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/backend/work.h"
#include "winnow/kernels/error.h"

namespace winnow::server {

// What an input may be.
struct TensorRule {
  absl::string_view field;
  absl::Span<const DType> dtypes;
  int64_t max_rows = 0;
  int64_t max_columns = 0;
};

// `tensor` is there and follows `rule`: type, shape, stride, a product that fits, alignment, and
// for an output of an earlier step that the step makes exactly this. `steps` are those before.
absl::Status CheckTensor(const TensorRule& rule, const TensorRef& tensor,
                         absl::Span<const Step> earlier_steps);

// An int32 vector with one entry for each of `rows` score rows. Absent passes unless `required`.
absl::Status CheckVector(absl::string_view field, const TensorRef& tensor, int64_t rows,
                         bool required, absl::Span<const Step> earlier_steps);

// A page table for `rows` score rows. `needed_by` names an output that needs it, or is empty.
absl::Status CheckPageTable(const PageTableRef& pages, int64_t rows, absl::string_view needed_by,
                            absl::Span<const Step> earlier_steps);
// Pages must hold whole blocks for block slots.
absl::Status CheckPagesHoldBlocks(const PageTableRef& pages, int32_t block_size);

// Where the outputs of `step` go: targets, strides, at least one of them.
absl::Status CheckOutputs(const Step& step);

// No output in device memory overlaps another one or an input of the item.
absl::Status CheckOverlaps(absl::Span<const Step> steps);

absl::Status FieldMissing(absl::string_view field, absl::string_view why);
absl::Status CheckRange(ErrorReason reason, absl::string_view field, int64_t value, int64_t low,
                        int64_t high);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_CHECK_TENSOR_H_
