// Whether tests of a device fail where it does not open, which skips them otherwise: on machines
// that are known to have one, so that nothing passes there because nothing ran.

#ifndef WINNOW_TESTS_TESTING_REQUIRED_DEVICE_H_
#define WINNOW_TESTS_TESTING_REQUIRED_DEVICE_H_

#include <cstdlib>

namespace winnow::testing {

inline bool DeviceIsRequired() { return std::getenv("WINNOW_REQUIRE_DEVICE") != nullptr; }

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_TESTING_REQUIRED_DEVICE_H_
