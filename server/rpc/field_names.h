// Names the field of an error as the request has it. The layers below know a work item ("lengths",
// "steps[1].keys"); a caller knows the message that it sent ("step.lengths",
// "steps[1].key_column_count", "candidate_lengths").

#ifndef WINNOW_SERVER_RPC_FIELD_NAMES_H_
#define WINNOW_SERVER_RPC_FIELD_NAMES_H_

#include "absl/status/status.h"
#include "server/backend/work.h"

namespace winnow::server {

// Each keeps code, reason, value, limit and row. An error without a field comes back as it is.
absl::Status RenameForStep(const absl::Status& status, const WorkItem& item);     // step.FIELD
absl::Status RenameForPublish(const absl::Status& status, const WorkItem& item);  // FIELD
absl::Status RenameForConsume(const absl::Status& status, const WorkItem& item);  // FIELD
absl::Status RenameForExecute(const absl::Status& status, const WorkItem& item);  // steps[i].FIELD

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_FIELD_NAMES_H_
