// The operations in their slow, obvious form: the oracle of every test. Host memory, one thread, no
// cleverness. Deterministic always, so that any other result can be compared as a set or bit for
// bit.

#ifndef WINNOW_KERNELS_REFERENCE_H_
#define WINNOW_KERNELS_REFERENCE_H_

#include "absl/status/status.h"
#include "winnow/kernels/operations.h"

namespace winnow::reference {

// Each does one segment: the checks of operations.h first, then the rows in order. Faults go to the
// segment's report (the first of the lowest row), with padding where there is no answer, as on a
// device.
absl::Status TopK(const TopKParams& params, const TopKSegment& segment);
absl::Status BlockAmax(const BlockAmaxParams& params, const BlockAmaxSegment& segment);
absl::Status SortCandidateBlocks(const SortBlocksParams& params, const SortBlocksSegment& segment);
absl::Status PublishCandidates(const PublishParams& params, const PublishSegment& segment);

}  // namespace winnow::reference

#endif  // WINNOW_KERNELS_REFERENCE_H_
