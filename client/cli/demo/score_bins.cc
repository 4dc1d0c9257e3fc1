#include "client/cli/demo/score_bins.h"

#include <algorithm>
#include <cmath>

namespace winnow::cli {

std::vector<ScoreBin> BinScores(absl::Span<const float> scores, int64_t most_bins) {
  const int64_t length = static_cast<int64_t>(scores.size());
  const int64_t count = std::min(length, most_bins);
  std::vector<ScoreBin> bins(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    ScoreBin& bin = bins[static_cast<size_t>(i)];
    bin.first = i * length / count;
    bin.last = (i + 1) * length / count;
    bool any = false;
    for (int64_t p = bin.first; p < bin.last; ++p) {
      const float score = scores[static_cast<size_t>(p)];
      if (!std::isfinite(score)) continue;
      bin.low = any ? std::min(bin.low, score) : score;
      bin.high = any ? std::max(bin.high, score) : score;
      any = true;
    }
  }
  return bins;
}

std::vector<double> BinBlocks(absl::Span<const int32_t> blocks, int32_t block_size, int64_t length,
                              int64_t bins) {
  std::vector<double> shares(static_cast<size_t>(bins), 0.0);
  if (length == 0) return shares;
  const double bins_per_position = static_cast<double>(bins) / static_cast<double>(length);
  for (int32_t block : blocks) {
    const int64_t first = static_cast<int64_t>(block) * block_size;
    if (block < 0 || first >= length) continue;
    const int64_t last = std::min<int64_t>(first + block_size, length);
    const double begin = static_cast<double>(first) * bins_per_position;
    const double end = static_cast<double>(last) * bins_per_position;
    for (int64_t bin = static_cast<int64_t>(begin); bin < bins && static_cast<double>(bin) < end;
         ++bin) {
      const double from = std::max(begin, static_cast<double>(bin));
      const double to = std::min(end, static_cast<double>(bin + 1));
      shares[static_cast<size_t>(bin)] += std::max(0.0, to - from);
    }
  }
  return shares;
}

}  // namespace winnow::cli
