// A CPU device that behaves like a GPU with memory of its own: host pointers are refused by its
// operations, and its memory starts full of junk. What stages data for it would do so for a GPU.

#ifndef WINNOW_TESTS_TESTING_DISCRETE_DEVICE_H_
#define WINNOW_TESTS_TESTING_DISCRETE_DEVICE_H_

#include <memory>

#include "winnow/kernels/device.h"

namespace winnow::testing {

// Operations fail with Internal when a segment points outside the device memory that Allocate gave,
// or with `reads_pinned` outside that and pinned memory. They need `workspace_bytes` of workspace.
std::unique_ptr<Device> MakeDiscreteDevice(int64_t workspace_bytes = 0, bool reads_pinned = false);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_TESTING_DISCRETE_DEVICE_H_
