#include "kernels/cuda/tuning/plan_rules.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/tuning/topk_policy.h"

namespace winnow::cuda {
namespace {

// Longest row that the policy serves from registers in a batch that fills the device.
int32_t SingleBlockLimit(const DeviceTraits& traits, const PlanParams& params) {
  for (int32_t length : {65536, 32768, 24576, 16384, 8192, 4096}) {
    const TopKPolicy policy = ChooseTopKPolicy(traits, {.dtype = params.dtype,
                                                        .k = params.k,
                                                        .rows = traits.multiprocessors,
                                                        .max_length = length});
    if (policy.route == TopKRoute::kShort) return length;
  }
  return 0;
}

}  // namespace

PlanRules MakePlanRules(const DeviceTraits& traits, const PlanParams& params) {
  PlanRules rules;
  rules.params = params;
  const bool heuristic = params.static_threshold < 0;
  rules.reason = heuristic ? PlanReason::kHeuristic : PlanReason::kAsRequested;
  rules.effective_threshold =
      heuristic ? DefaultPoolThreshold(traits, params.dtype, params.k) : params.static_threshold;
  rules.single_block_limit = SingleBlockLimit(traits, params);
  // Split rows need no cluster: one block on each multiprocessor.
  rules.pool_width = traits.multiprocessors;
  return rules;
}

void WriteHostPlan(const PlanRules& rules, const int32_t* lengths, int32_t rows, std::byte* plan) {
  PlanHeader header = EmptyPlanHeader(rules, rows);
  auto* planned = reinterpret_cast<int32_t*>(plan + sizeof(header));
  int32_t* pooled = planned + rows;
  for (int32_t row = 0; row < rows; ++row) {
    const int32_t length = lengths[row];
    planned[row] = length;
    header.negative_rows += length < 0;
    ++header.route_rows[static_cast<int32_t>(RouteOf(rules, length))];
    if (length > rules.effective_threshold) pooled[header.pooled_row_count++] = row;
  }
  // The rest of the list is part of the plan's bytes.
  std::fill(pooled + header.pooled_row_count, pooled + rows, -1);
  std::memcpy(plan, &header, sizeof(header));
}

}  // namespace winnow::cuda
