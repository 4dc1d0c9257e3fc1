// Cuts the rows of a large file into requests that the server accepts. Pure.

#ifndef WINNOW_CLIENT_CLI_ROW_RANGES_H_
#define WINNOW_CLIENT_CLI_ROW_RANGES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace winnow::cli {

// Rows [first, first + count); the widest has `columns` scores.
struct RowRange {
  int64_t first = 0;
  int64_t count = 0;
  int64_t columns = 0;
  bool operator==(const RowRange&) const = default;
};

struct RowCosts {
  int64_t score_bytes = 4;    // of one score; a request's rows all take its widest row's columns
  int64_t input_bytes = 0;    // of one row besides its scores
  int64_t output_bytes = 0;   // of one row
  int64_t request_bytes = 0;  // of a request besides its rows
};

struct RowLimits {
  int64_t rows = 65536;
  int64_t bytes = int64_t{1} << 25;  // inputs and outputs each
};

// As few ranges as rows in order allow, each within the limits. A row that exceeds them by itself
// is a range of one: the server says what it thinks of it. No rows give one range of none, so that
// the server sees the request. Widths and costs are at least 0 and small enough for their products
// to fit 63 bits (widths at most 2^31, costs 2^31).
std::vector<RowRange> SplitRows(absl::Span<const int64_t> widths, const RowCosts& costs,
                                const RowLimits& limits);

}  // namespace winnow::cli

#endif  // WINNOW_CLIENT_CLI_ROW_RANGES_H_
