// What the reference says about a work item: the same steps, on plain copies of its inputs.

#ifndef WINNOW_TESTS_SERVER_BACKEND_REFERENCE_ITEM_H_
#define WINNOW_TESTS_SERVER_BACKEND_REFERENCE_ITEM_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/backend/backend.h"
#include "server/backend/work.h"

namespace winnow::server {

struct ReferenceResult {
  absl::Status status;
  std::vector<std::map<OutputName, std::string>> outputs;  // bytes without gaps, for each step
  std::vector<int32_t> negative_rows;
};

// Inputs in device memory are read through `backend`, which may be null when there are none.
// Parameters must be deterministic for results to be comparable bit for bit.
ReferenceResult RunReference(const WorkItem& item, Backend* backend);

// The bytes of an output of step `step` with what the operations leave open made the same: the sign
// of a zero key and the bits of a NaN key, also of keys that a later step selects as values.
std::string Canonical(const WorkItem& item, size_t step, OutputName name, std::string bytes);

}  // namespace winnow::server

#endif  // WINNOW_TESTS_SERVER_BACKEND_REFERENCE_ITEM_H_
