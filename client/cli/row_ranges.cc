#include "client/cli/row_ranges.h"

#include <algorithm>

namespace winnow::cli {
namespace {

bool Fits(int64_t count, int64_t columns, const RowCosts& costs, const RowLimits& limits) {
  const int64_t row_bytes = columns * costs.score_bytes + costs.input_bytes;
  return count <= limits.rows && count * row_bytes + costs.request_bytes <= limits.bytes &&
         count * costs.output_bytes <= limits.bytes;
}

}  // namespace

std::vector<RowRange> SplitRows(absl::Span<const int64_t> widths, const RowCosts& costs,
                                const RowLimits& limits) {
  std::vector<RowRange> ranges(1);
  for (int64_t row = 0; row < static_cast<int64_t>(widths.size()); ++row) {
    RowRange& last = ranges.back();
    const int64_t columns = std::max(last.columns, widths[row]);
    if (last.count == 0 || Fits(last.count + 1, columns, costs, limits)) {
      ++last.count;
      last.columns = columns;
    } else {
      ranges.push_back({.first = row, .count = 1, .columns = widths[row]});
    }
  }
  return ranges;
}

}  // namespace winnow::cli
