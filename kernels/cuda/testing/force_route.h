// For tests and benchmarks: takes the choice of the top-k route, and of the way of a publish, away
// from the policy, so that every one can be tried on every case. The product never calls what
// forces one.

#ifndef WINNOW_KERNELS_CUDA_TESTING_FORCE_ROUTE_H_
#define WINNOW_KERNELS_CUDA_TESTING_FORCE_ROUTE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "kernels/cuda/tuning/topk_policy.h"

namespace winnow::cuda {

// Every later launch of the process takes `route`; nullopt gives the choice back. Workspace sizes
// follow it. Thread-safe.
void ForceTopKRoute(std::optional<TopKRoute> route);
std::optional<TopKRoute> ForcedTopKRoute();

// Of a forced route that shares rows: low, so that short rows, which are quick to check, are shared
// as well.
inline constexpr int32_t kForcedPoolThreshold = 2500;

// Whether a publish is fused; by default it is not. Workspace sizes follow it. Thread-safe.
void ForceFusedPublish(bool fused);
bool FusedPublishForced();

// The route that ToString names so; nullopt for any other name.
std::optional<TopKRoute> ParseTopKRoute(absl::string_view name);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_TESTING_FORCE_ROUTE_H_
