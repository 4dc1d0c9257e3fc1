// The contract suite on the first CUDA device; skipped, with the reason, when none answers. With
// WINNOW_FORCE_ROUTE=exact|short|stream|split|cluster every top-k takes that route, fit or not;
// with WINNOW_FORCE_FUSED_PUBLISH set every publish is fused.

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/testing/force_route.h"
#include "tests/contract/contract_test.h"

namespace winnow::contract {
namespace {

absl::StatusOr<std::unique_ptr<Device>> OpenWithForcedRoute() {
  if (const char* name = std::getenv("WINNOW_FORCE_ROUTE"); name != nullptr) {
    const auto route = cuda::ParseTopKRoute(name);
    if (!route.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "WINNOW_FORCE_ROUTE is ", name, "; routes are exact, short, stream, split, cluster"));
    }
    cuda::ForceTopKRoute(route);
  }
  cuda::ForceFusedPublish(std::getenv("WINNOW_FORCE_FUSED_PUBLISH") != nullptr);
  return OpenCudaDevice({.ordinal = 0});
}

INSTANTIATE_TEST_SUITE_P(Cuda, ContractTest,
                         ::testing::Values(DeviceUnderTest{"Device0", OpenWithForcedRoute}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace winnow::contract
