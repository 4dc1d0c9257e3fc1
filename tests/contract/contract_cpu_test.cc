// The contract suite on the CPU device, with each instruction set that this processor has.

#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/row_kernels.h"
#include "tests/contract/contract_test.h"

namespace winnow::contract {
namespace {

std::vector<DeviceUnderTest> CpuDevices() {
  std::vector<DeviceUnderTest> devices;
  for (const cpu::RowKernels* kernels : cpu::UsableRowKernels()) {
    // More threads than the smallest machine has, so that rows are shared everywhere.
    devices.push_back({kernels->name, [kernels]() -> absl::StatusOr<std::unique_ptr<Device>> {
                         return std::make_unique<cpu::CpuDevice>(3, *kernels);
                       }});
  }
  return devices;
}

INSTANTIATE_TEST_SUITE_P(Cpu, ContractTest, ::testing::ValuesIn(CpuDevices()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace winnow::contract
