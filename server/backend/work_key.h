// Which items may share a launch.

#ifndef WINNOW_SERVER_BACKEND_WORK_KEY_H_
#define WINNOW_SERVER_BACKEND_WORK_KEY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/backend/work.h"

namespace winnow::server {

// Equal for items that may be in one WorkBatch: the same operations in the same order with equal
// parameters, the same wanted outputs and the same references between steps. Shapes, lengths,
// strides and placements may differ.
std::string BatchKey(const WorkItem& item);

// Size of an item's work, for bounds and fairness.
struct WorkCost {
  int64_t rows = 0;         // score rows over all steps
  int64_t input_bytes = 0;  // read by the steps, wherever they lie
  int64_t host_bytes = 0;   // host memory that the request holds: inline inputs and inline outputs
};
WorkCost CostOf(const WorkItem& item);

// Checks an item against the operations' rules as far as the host can see: parameters, shapes
// between inputs, dtypes, references to earlier steps, page tables and lengths that lie in host
// memory. InvalidArgument with the field path of the request ("steps[1].lengths"), "" as prefix for
// items of one step. Nothing was enqueued.
absl::Status CheckItem(const WorkItem& item);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_WORK_KEY_H_
