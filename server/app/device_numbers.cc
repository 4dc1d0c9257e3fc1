// Which devices a configuration names.

#include <algorithm>

#include "server/app/server_config.h"
#include "winnow/kernels/device.h"
#include "winnow/kernels/plain_number.h"

namespace winnow::server {

std::vector<int32_t> ServerConfig::DeviceNumbers() const {
  if (devices.empty()) return {device};
  std::vector<int32_t> numbers;
  if (devices[0] == "all") {
    // Without a GPU there is the CPU, or an error that says why the GPU does not answer.
    const int32_t count = backend == "cpu" ? 1 : std::max(1, CudaDeviceCount());
    for (int32_t number = 0; number < count; ++number) numbers.push_back(number);
    return numbers;
  }
  for (const std::string& text : devices) {
    int32_t number = 0;
    if (ParsePlainNumber(text, number)) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace winnow::server
