#include "kernels/cuda/kernel/plan_rows.cuh"
#include "kernels/cuda/launch/launch_kernel.h"
#include "kernels/cuda/launch/plan_launch.h"

namespace winnow::cuda {

cudaError_t LaunchPlan(const LaunchContext& context, const PlanRules& rules, const int32_t* lengths,
                       int32_t rows, std::byte* plan) {
  return LaunchKernel(PlanRowsKernel,
                      {.blocks = 1, .threads = kPlanThreads, .dependent = context.dependent_launch},
                      context.stream, rules, lengths, rows, plan);
}

}  // namespace winnow::cuda
