// How a plan routes rows on this device. The host and the kernel apply the same rules, so that a
// plan has the same bytes whoever makes it.

#ifndef WINNOW_KERNELS_CUDA_TUNING_PLAN_RULES_H_
#define WINNOW_KERNELS_CUDA_TUNING_PLAN_RULES_H_

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/tuning/device_traits.h"
#include "winnow/kernels/operations.h"

namespace winnow::cuda {

struct PlanRules {
  PlanParams params;
  int32_t effective_threshold = 0;  // rows longer than it are pooled
  PlanReason reason = PlanReason::kHeuristic;
  Route pooled_route = Route::kSplit;
  int32_t single_block_limit = 0;  // rows up to it are held in registers when not pooled
  int32_t pool_width = 0;
  int32_t cluster_size = 0;
};

// A pure function of the device and the parameters. `params` passed CheckPlan.
PlanRules MakePlanRules(const DeviceTraits& traits, const PlanParams& params);

// Route of a row of `length`. Also called by the kernel.
constexpr Route RouteOf(const PlanRules& rules, int32_t length) {
  if (length > rules.effective_threshold) return rules.pooled_route;
  if (length <= rules.params.k) return Route::kIdentity;
  return length <= rules.single_block_limit ? Route::kSingleBlock : Route::kStreaming;
}

// The header of a plan of `rows` rows, its counts zero.
constexpr PlanHeader EmptyPlanHeader(const PlanRules& rules, int32_t rows) {
  PlanHeader header;
  header.rows = rows;
  header.columns = rules.params.columns;
  header.k = rules.params.k;
  header.dtype = static_cast<int32_t>(rules.params.dtype);
  header.static_threshold = rules.params.static_threshold;
  header.effective_threshold = rules.effective_threshold;
  header.reason = static_cast<int32_t>(rules.reason);
  header.pool_width = rules.pool_width;
  header.cluster_size = rules.cluster_size;
  return header;
}

// The plan of `lengths` in host memory: PlanBytes(rows) bytes at `plan`.
void WriteHostPlan(const PlanRules& rules, const int32_t* lengths, int32_t rows, std::byte* plan);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_TUNING_PLAN_RULES_H_
