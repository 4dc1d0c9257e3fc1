// Routing of rows on the CPU: which rows several threads share.

#ifndef WINNOW_KERNELS_CPU_PLAN_H_
#define WINNOW_KERNELS_CPU_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "winnow/kernels/operations.h"

namespace winnow::cpu {

struct Threshold {
  int32_t effective = 0;  // rows longer than it are shared
  PlanReason reason = PlanReason::kHeuristic;
};

// `static_threshold` taken literally, or, when it is negative, the length above which sharing a row
// pays: `total_length` is the sum of the lengths of all rows that will run together.
Threshold ChooseThreshold(int32_t static_threshold, int32_t threads, int64_t total_length);

// Sum of the positive lengths.
int64_t TotalLength(const int32_t* lengths, int32_t rows);

// Writes the plan. `params` and `rows` passed CheckPlan.
void WritePlan(const PlanParams& params, int32_t threads, const int32_t* lengths, int32_t rows,
               std::byte* plan);

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_PLAN_H_
