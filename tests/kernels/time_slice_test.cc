#include "winnow/kernels/time_slice.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

namespace winnow {
namespace {

// Of struct sched_attr, in its first version; 0 from kernels that know no slices.
uint64_t SliceOfThisThread() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return 0;
  return attributes.runtime;
}

TEST(TimeSliceTest, AThreadThatAsksGetsLongerSlicesAndNoOtherDoes) {
  const uint64_t before = SliceOfThisThread();
  uint64_t after = 0;
  bool taken = false;
  std::thread([&] {
    taken = AskForLongTimeSlices();
    after = SliceOfThisThread();
  }).join();
  if (!taken) GTEST_SKIP() << "this kernel knows no time slices, or refuses to change them";
  EXPECT_GT(after, before);
  EXPECT_EQ(SliceOfThisThread(), before);
}

}  // namespace
}  // namespace winnow
