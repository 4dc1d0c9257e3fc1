// The contract suite on the CPU device.

#include "tests/contract/contract_test.h"

namespace winnow::contract {
namespace {

// More threads than the smallest machine has, so that rows are shared everywhere.
INSTANTIATE_TEST_SUITE_P(Cpu, ContractTest,
                         ::testing::Values(DeviceUnderTest{
                             "Threads3", [] { return OpenCpuDevice({.threads = 3}); }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace winnow::contract
