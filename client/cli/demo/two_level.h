// Runs the two-level indexer on one row, as a source layer and a later layer would, and compares
// every number that comes back with the plain reference.

#ifndef WINNOW_CLIENT_CLI_DEMO_TWO_LEVEL_H_
#define WINNOW_CLIENT_CLI_DEMO_TWO_LEVEL_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/cli/demo/demo_data.h"
#include "winnow/client/client.h"

namespace winnow::cli {

struct TwoLevelParameters {
  int32_t k = 512;
  int32_t k_blocks = 2048;
  int32_t block_size = 8;
  int32_t page_size = 64;
  int32_t pool_pages = 4096;  // page_size * pool_pages slots hold the longest row
};

// How a selection cut through equal scores: of `equal` scores equal to the lowest one kept, `kept`
// are kept. 0 and 0: everything is kept.
struct Boundary {
  int64_t kept = 0;
  int64_t equal = 0;
};

struct TwoLevelResult {
  std::vector<int32_t> tokens;  // positions
  std::vector<int32_t> blocks;
  std::vector<int32_t> later;  // positions that the later layer keeps
  int64_t candidate_length = 0;
  Boundary token_boundary;
  Boundary later_boundary;
  absl::Duration publish_time;  // on the server
  absl::Duration consume_time;
  std::string difference;  // from the reference, the first; empty: none
};

// `row` gives the source layer's scores; the later layer's are `later_bits` (bfloat16, not empty)
// by position, from the start again when the row is longer. They stand in a paged cache, and the
// candidates are read from it by the block slots that the server published. Pages are distinct ones
// of the pool, drawn from `random`; InvalidArgument if the row needs more. Other errors: the
// server's.
absl::StatusOr<TwoLevelResult> RunTwoLevel(const client::Client& client, const DemoRow& row,
                                           absl::Span<const uint16_t> later_bits,
                                           const TwoLevelParameters& parameters,
                                           std::mt19937_64& random);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEMO_TWO_LEVEL_H_
