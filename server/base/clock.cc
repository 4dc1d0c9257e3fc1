#include "server/base/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace winnow::server {
namespace {

// Wall time at the start plus what the steady clock has counted since: a step of the wall clock
// must not expire every queued request.
class RealClock final : public Clock {
 public:
  absl::Time Now() const override {
    return wall_start_ + absl::FromChrono(std::chrono::steady_clock::now() - steady_start_);
  }

  void WaitUntil(absl::Mutex& mutex, absl::CondVar& changed, absl::Time deadline) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (deadline == absl::InfiniteFuture()) {
      changed.Wait(&mutex);
    } else {
      changed.WaitWithTimeout(&mutex, deadline - Now());
    }
  }

 private:
  const absl::Time wall_start_ = absl::Now();
  const std::chrono::steady_clock::time_point steady_start_ = std::chrono::steady_clock::now();
};

}  // namespace

Clock* Clock::Real() {
  // Never destroyed: threads may ask for the time while the process ends.
  static auto* const clock = new RealClock;
  return clock;
}

}  // namespace winnow::server
