#include "client/loadgen/collector.h"

#include <optional>

#include "winnow/client/error.h"

namespace winnow::stress {
namespace {

std::string NameOf(const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return info.has_value() ? std::string(winnow::Name(info->reason))
                          : absl::StatusCodeToString(status.code());
}

}  // namespace

Collector::Collector(Chaos chaos, absl::Time counted_from)
    : chaos_(chaos), counted_from_(counted_from), checker_([this] { Check(); }) {}

Collector::~Collector() {
  {
    absl::MutexLock lock(&mu_);
    stop_ = true;
  }
  checker_.join();
}

void Collector::Start() {
  absl::MutexLock lock(&mu_);
  ++in_flight_;
}

void Collector::NotSent(absl::Time due) {
  absl::MutexLock lock(&mu_);
  if (due >= counted_from_) ++result_.not_sent;
}

bool Collector::AwaitBelow(int64_t bound, absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  const auto below = [&] { return in_flight_ < bound; };
  return mu_.AwaitWithDeadline(absl::Condition(&below), deadline);
}

void Collector::AwaitChecks() {
  absl::MutexLock lock(&mu_);
  const auto idle = [this] { return unchecked_.empty() && !checking_; };
  mu_.Await(absl::Condition(&idle));
}

RunResult Collector::result() const {
  absl::MutexLock lock(&mu_);
  return result_;
}

void Collector::CountOk(absl::Duration latency, const client::Timing& timing) {
  ++result_.ok;
  result_.latency.Record(latency);
  result_.queue.Record(timing.queue);
  result_.launch.Record(timing.launch);
  result_.device.Record(timing.device);
}

void Collector::CountError(bool malformed, const absl::Status& status) {
  const std::string name = NameOf(status);
  ++result_.errors[name];
  if (Explains(chaos_, malformed, status)) return;
  if (result_.unexpected[name]++ == 0) result_.texts[name] = std::string(status.message());
}

void Collector::Wrong(std::string what) {
  if (result_.wrong++ == 0) result_.first_wrong = std::move(what);
}

void Collector::Check() {
  while (true) {
    std::function<absl::Status()> check;
    {
      absl::MutexLock lock(&mu_);
      const auto ready = [this] { return stop_ || !unchecked_.empty(); };
      mu_.Await(absl::Condition(&ready));
      if (unchecked_.empty()) return;
      check = std::move(unchecked_.front());
      unchecked_.pop_front();
      checking_ = true;
    }
    const absl::Status status = check();
    absl::MutexLock lock(&mu_);
    checking_ = false;
    ++result_.verified;
    if (!status.ok()) Wrong(std::string(status.message()));
  }
}

}  // namespace winnow::stress
