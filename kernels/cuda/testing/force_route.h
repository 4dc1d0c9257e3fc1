// For tests: takes the choice of the top-k route away from the policy, so that every route can be
// tried on every case. The product never calls ForceTopKRoute.

#ifndef WINNOW_KERNELS_CUDA_TESTING_FORCE_ROUTE_H_
#define WINNOW_KERNELS_CUDA_TESTING_FORCE_ROUTE_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "kernels/cuda/tuning/topk_policy.h"

namespace winnow::cuda {

// Every later launch of the process takes `route`; nullopt gives the choice back. Workspace sizes
// follow it. Thread-safe.
void ForceTopKRoute(std::optional<TopKRoute> route);
std::optional<TopKRoute> ForcedTopKRoute();

// The route that ToString names so; nullopt for any other name.
std::optional<TopKRoute> ParseTopKRoute(absl::string_view name);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_TESTING_FORCE_ROUTE_H_
