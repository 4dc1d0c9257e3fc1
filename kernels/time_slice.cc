#include "winnow/kernels/time_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace winnow {
namespace {

// Above the default of about a millisecond. Not by far: whoever did not just wake waits so long.
constexpr uint64_t kLongNanos = 3'000'000;

// The shortest there is.
constexpr uint64_t kShortNanos = 100'000;

// Of SchedulingAttributes: what the thread asks for is its own, threads that it starts have the
// default.
constexpr uint64_t kResetOnFork = 1;

// A hundred times what giving up a core costs that nobody waits for.
constexpr std::chrono::microseconds kTurn(100);

thread_local bool gives_way_here = false;
thread_local std::chrono::steady_clock::time_point turn_began;

// The first version of the kernel's struct sched_attr, whose header clashes with the C library's.
struct SchedulingAttributes {
  uint32_t size = 0;
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_nanos = 0;  // under the default policy the slice
  uint64_t deadline_nanos = 0;
  uint64_t period_nanos = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

bool AskForTimeSlices(uint64_t nanos) {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return false;
  // A kernel that knows no slices gives 0, and would take the time for something else.
  if (attributes.policy != SCHED_OTHER || attributes.runtime_nanos == 0) return false;
  attributes.size = sizeof(attributes);
  attributes.flags |= kResetOnFork;
  attributes.runtime_nanos = nanos;
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace

bool AskForLongTimeSlices() { return AskForTimeSlices(kLongNanos); }

bool AskForShortTimeSlices() { return AskForTimeSlices(kShortNanos); }

GivingWay::GivingWay(bool gives_way) : before_(gives_way_here) {
  gives_way_here = gives_way;
  if (gives_way && !before_) turn_began = std::chrono::steady_clock::now();
}

GivingWay::~GivingWay() { gives_way_here = before_; }

bool GivingWay::Here() { return gives_way_here; }

bool GivingWay::EndTurnIfDue() {
  if (!gives_way_here || std::chrono::steady_clock::now() - turn_began < kTurn) return false;
  sched_yield();
  turn_began = std::chrono::steady_clock::now();
  return true;
}

}  // namespace winnow
