// Reduces a row to what a row of pixels can show. Pure.

#ifndef WINNOW_CLIENT_CLI_DEMO_SCORE_BINS_H_
#define WINNOW_CLIENT_CLI_DEMO_SCORE_BINS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace winnow::cli {

// Positions [first, last) of a row, and their lowest and highest finite score.
struct ScoreBin {
  int64_t first = 0;
  int64_t last = 0;
  float low = 0;
  float high = 0;
};

// min(length, most_bins) bins that cover the row without gaps; a bin without a finite score is 0.
std::vector<ScoreBin> BinScores(absl::Span<const float> scores, int64_t most_bins);

// For each of `bins` equal parts of [0, length): the share of its positions that lie in `blocks`.
// Parts narrower than a position share it. Ids outside the row count for nothing.
std::vector<double> BinBlocks(absl::Span<const int32_t> blocks, int32_t block_size, int64_t length,
                              int64_t bins);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_DEMO_SCORE_BINS_H_
