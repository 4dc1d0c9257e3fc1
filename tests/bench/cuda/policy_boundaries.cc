#include "tests/bench/cuda/policy_boundaries.h"

namespace winnow::bench {

std::vector<int32_t> Boundaries(const cuda::DeviceTraits& traits, const Axis& axis) {
  std::vector<int32_t> boundaries;
  cuda::TopKPolicy before = ChosenPolicy(traits, axis.at(axis.first));
  for (int32_t value = axis.first + axis.grain; value <= axis.last; value += axis.grain) {
    const cuda::TopKPolicy now = ChosenPolicy(traits, axis.at(value));
    if (!(now == before)) boundaries.push_back(value);
    before = now;
  }
  return boundaries;
}

}  // namespace winnow::bench
