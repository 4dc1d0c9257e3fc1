// Launches PlanTopK. Next: kernel/plan_rows.cuh; tuning/plan_rules.h for the routing.

#ifndef WINNOW_KERNELS_CUDA_LAUNCH_PLAN_LAUNCH_H_
#define WINNOW_KERNELS_CUDA_LAUNCH_PLAN_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/launch/launch_context.h"
#include "kernels/cuda/tuning/plan_rules.h"

namespace winnow::cuda {

// `lengths` and `plan` are device memory.
cudaError_t LaunchPlan(const LaunchContext& context, const PlanRules& rules, const int32_t* lengths,
                       int32_t rows, std::byte* plan);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_LAUNCH_PLAN_LAUNCH_H_
