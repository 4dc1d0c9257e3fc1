#include "kernels/cuda/testing/force_route.h"

#include <atomic>

namespace winnow::cuda {
namespace {

constexpr int32_t kNotForced = -1;
std::atomic<int32_t> forced_route{kNotForced};
std::atomic<bool> forced_fused_publish{false};

}  // namespace

void ForceTopKRoute(std::optional<TopKRoute> route) {
  forced_route = route.has_value() ? static_cast<int32_t>(*route) : kNotForced;
}

std::optional<TopKRoute> ForcedTopKRoute() {
  const int32_t route = forced_route;
  if (route == kNotForced) return std::nullopt;
  return static_cast<TopKRoute>(route);
}

void ForceFusedPublish(bool fused) { forced_fused_publish = fused; }
bool FusedPublishForced() { return forced_fused_publish; }

std::optional<TopKRoute> ParseTopKRoute(absl::string_view name) {
  for (int32_t i = 0; i < kTopKRouteCount; ++i) {
    if (ToString(static_cast<TopKRoute>(i)) == name) return static_cast<TopKRoute>(i);
  }
  return std::nullopt;
}

}  // namespace winnow::cuda
