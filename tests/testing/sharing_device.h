// A device like a GPU that shares memory: it has words, and reads pinned memory in place.

#ifndef WINNOW_TESTS_TESTING_SHARING_DEVICE_H_
#define WINNOW_TESTS_TESTING_SHARING_DEVICE_H_

#include "tests/testing/discrete_device.h"
#include "tests/testing/fake_sharing.h"
#include "tests/testing/forwarding_device.h"

namespace winnow::testing {

class SharingDevice final : public ForwardingDevice {
 public:
  // `sharing` may be null, and outlives the device.
  explicit SharingDevice(MemorySharing* sharing)
      : ForwardingDevice(MakeDiscreteDevice(10'000, /*reads_pinned=*/true)), sharing_(sharing) {}
  MemorySharing* memory_sharing() override { return sharing_; }

 private:
  MemorySharing* const sharing_;
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_TESTING_SHARING_DEVICE_H_
