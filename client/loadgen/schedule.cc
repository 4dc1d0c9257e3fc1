#include "client/loadgen/schedule.h"

#include <algorithm>

namespace winnow::stress {

Schedule::Schedule(const RunOptions& options, const std::vector<absl::Duration>& arrivals,
                   absl::Duration period, absl::Time begin)
    : options_(options), arrivals_(arrivals), period_(period), begin_(begin), due_(begin) {
  if (!arrivals.empty()) due_ += arrivals[0] / options.speed;
}

void Schedule::Advance(absl::FunctionRef<absl::Duration(double rate)> gap) {
  if (arrivals_.empty()) {
    due_ += gap(options_.rate * Share(due_));
    return;
  }
  ++next_;
  const auto turns = static_cast<int64_t>(next_ / arrivals_.size());
  due_ = begin_ + (turns * period_ + arrivals_[next_ % arrivals_.size()]) / options_.speed;
}

int64_t Schedule::Bound(absl::Time now) const {
  if (is_open()) return options_.in_flight;
  return std::max<int64_t>(1, static_cast<int64_t>(options_.in_flight * Share(now)));
}

double Schedule::Share(absl::Time now) const {
  if (now >= begin_ + options_.ramp) return 1;
  return std::max(0.02, absl::FDivDuration(now - begin_, options_.ramp));
}

}  // namespace winnow::stress
