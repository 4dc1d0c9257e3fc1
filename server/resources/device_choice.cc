#include "server/resources/device_choice.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "winnow/kernels/error.h"

namespace winnow::server {

int32_t LeastLoaded(absl::Span<const DeviceLoad> loads) {
  const auto least =
      std::min_element(loads.begin(), loads.end(), [](const DeviceLoad& a, const DeviceLoad& b) {
        return std::tie(a.reserved_bytes, a.leases, a.requests_in_flight) <
               std::tie(b.reserved_bytes, b.leases, b.requests_in_flight);
      });
  return static_cast<int32_t>(least - loads.begin());
}

absl::StatusOr<int32_t> FindDevice(absl::Span<const LeaseDevice> devices, int32_t number) {
  for (size_t place = 0; place < devices.size(); ++place) {
    if (devices[place].number == number) return static_cast<int32_t>(place);
  }
  const std::string numbers = absl::StrJoin(
      devices, ", ",
      [](std::string* text, const LeaseDevice& device) { absl::StrAppend(text, device.number); });
  return InvalidField(ErrorReason::kValueOutOfRange, "device", number,
                      absl::StrCat("the devices ", numbers));
}

}  // namespace winnow::server
