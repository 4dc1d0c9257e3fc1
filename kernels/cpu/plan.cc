#include "kernels/cpu/plan.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace winnow::cpu {
namespace {

// Handing part of a row to another thread, waking it and merging costs 20 us and more: what a
// thread alone needs for about half of so many scores.
constexpr int64_t kMinSharedLength = 262144;

}  // namespace

Threshold ChooseThreshold(int32_t static_threshold, int32_t threads, int64_t total_length) {
  if (threads <= 1) return {std::numeric_limits<int32_t>::max(), PlanReason::kNoPool};
  if (static_threshold >= 0) return {static_threshold, PlanReason::kAsRequested};
  // A row longer than one thread's share of the work would keep the others waiting.
  const int64_t share = total_length / threads;
  return {static_cast<int32_t>(std::min<int64_t>(std::max(kMinSharedLength, share),
                                                 std::numeric_limits<int32_t>::max())),
          PlanReason::kHeuristic};
}

int64_t TotalLength(const int32_t* lengths, int32_t rows) {
  int64_t total = 0;
  for (int32_t row = 0; row < rows; ++row) total += std::max(lengths[row], 0);
  return total;
}

void WritePlan(const PlanParams& params, int32_t threads, const int32_t* lengths, int32_t rows,
               std::byte* plan) {
  const Threshold threshold =
      ChooseThreshold(params.static_threshold, threads, TotalLength(lengths, rows));
  PlanHeader header;
  header.rows = rows;
  header.columns = params.columns;
  header.k = params.k;
  header.dtype = static_cast<int32_t>(params.dtype);
  header.static_threshold = params.static_threshold;
  header.effective_threshold = threshold.effective;
  header.reason = static_cast<int32_t>(threshold.reason);
  header.pool_width = threads > 1 ? threads : 0;
  auto* planned_lengths = reinterpret_cast<int32_t*>(plan + sizeof(header));
  int32_t* pooled_rows = planned_lengths + rows;
  for (int32_t row = 0; row < rows; ++row) {
    const int32_t length = lengths[row];
    planned_lengths[row] = length;
    if (length < 0) ++header.negative_rows;
    Route route = length <= params.k ? Route::kIdentity : Route::kStreaming;
    if (length > threshold.effective) {
      pooled_rows[header.pooled_row_count++] = row;
      route = Route::kSplit;
    }
    ++header.route_rows[static_cast<int32_t>(route)];
  }
  // The rest of the list is part of the plan's bytes, which are the same in every run.
  std::fill(pooled_rows + header.pooled_row_count, pooled_rows + rows, -1);
  std::memcpy(plan, &header, sizeof(header));
}

}  // namespace winnow::cpu
