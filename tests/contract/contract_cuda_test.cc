// The contract suite on the first CUDA device; skipped, with the reason, when none answers.

#include "tests/contract/contract_test.h"

namespace winnow::contract {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, ContractTest,
                         ::testing::Values(DeviceUnderTest{
                             "Device0", [] { return OpenCudaDevice({.ordinal = 0}); }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace winnow::contract
