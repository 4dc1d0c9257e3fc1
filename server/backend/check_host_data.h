// Looks at the contents of inputs that lie in host memory, before anything is enqueued.

#ifndef WINNOW_SERVER_BACKEND_CHECK_HOST_DATA_H_
#define WINNOW_SERVER_BACKEND_CHECK_HOST_DATA_H_

#include "server/backend/work.h"
#include "winnow/kernels/segments.h"

namespace winnow::server {

// The fault of the lowest row that a device would find, as far as the inputs in host memory show
// it, by the same rules (segments.h). One rule is stricter: every page that a row uses must be
// valid, not only those of selected positions, as the selection is not known yet. Shapes were
// checked before. Reads no more entries than the step's inputs have elements.
FaultRecord FindHostFault(const TopKStep& step);
FaultRecord FindHostFault(const BlockAmaxStep& step);
FaultRecord FindHostFault(const SortBlocksStep& step);
FaultRecord FindHostFault(const PublishStep& step);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_CHECK_HOST_DATA_H_
