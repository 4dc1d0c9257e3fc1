// Where the device's policy for a top-k changes as one quantity grows. Pure functions: no GPU.

#ifndef WINNOW_TESTS_BENCH_CUDA_POLICY_BOUNDARIES_H_
#define WINNOW_TESTS_BENCH_CUDA_POLICY_BOUNDARIES_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kernels/cuda/tuning/device_traits.h"
#include "tests/bench/cuda/bench_case.h"

namespace winnow::bench {

// One quantity that grows from `first` to `last` in steps of `grain` while the rest of a case
// stays.
struct Axis {
  int32_t first;
  int32_t last;
  int32_t grain;
  absl::FunctionRef<BenchCase(int32_t)> at;
};

// The first values of each stretch that the device serves with another policy, ascending.
std::vector<int32_t> Boundaries(const cuda::DeviceTraits& traits, const Axis& axis);

}  // namespace winnow::bench

#endif  // WINNOW_TESTS_BENCH_CUDA_POLICY_BOUNDARIES_H_
