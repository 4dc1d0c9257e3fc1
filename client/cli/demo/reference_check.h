// Compares what a server gave with winnow::reference, number by number.

#ifndef WINNOW_CLIENT_CLI_DEMO_REFERENCE_CHECK_H_
#define WINNOW_CLIENT_CLI_DEMO_REFERENCE_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/demo/demo_data.h"
#include "client/cli/demo/two_level.h"
#include "winnow/client/results.h"

namespace winnow::cli {

// The first difference, e.g. "slots[17] is 3, the reference has 4"; empty: none. The requests must
// have been deterministic ones of one row. Errors: the reference's own.
absl::StatusOr<std::string> DifferenceOfPublish(const DemoRow& row,
                                                const std::vector<int32_t>& pages,
                                                const TwoLevelParameters& parameters,
                                                const client::PublishCandidatesResult& result);

// `candidates`: bfloat16 bits, the scores that were sent. `published`: as was sent; equal to the
// reference's.
absl::StatusOr<std::string> DifferenceOfConsume(const std::vector<uint16_t>& candidates,
                                                const client::PublishCandidatesResult& published,
                                                const TwoLevelParameters& parameters,
                                                const client::ConsumeCandidatesResult& result);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEMO_REFERENCE_CHECK_H_
