#include "server/rpc/error_journal.h"

#include "winnow/kernels/error.h"

namespace winnow::server {
namespace {

constexpr size_t kMaxMessageBytes = 200;

}  // namespace

Counter& ErrorJournal::CounterOf(int reason, absl::string_view name) {
  std::atomic<Counter*>& slot = counters_[reason >= 0 && reason < kReasons ? reason : 0];
  Counter* counter = slot.load(std::memory_order_acquire);
  if (counter == nullptr) {
    // The registry gives every caller the same one.
    counter = metrics_.AddCounter("winnow_errors_total", "Failed requests by reason.",
                                  {{"reason", std::string(name)}});
    slot.store(counter, std::memory_order_release);
  }
  return *counter;
}

void ErrorJournal::Add(absl::string_view method, const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  const ErrorReason reason = info.has_value() ? info->reason : ErrorReason::kUnspecified;
  CounterOf(static_cast<int>(reason), Name(reason)).Add();
  const std::string code = absl::StatusCodeToString(status.code());
  const absl::Time now = clock_->Now();
  absl::MutexLock lock(&mu_);
  if (!latest_.empty()) {
    FailureRecord& last = latest_.front();
    if (last.method == method && last.code == code && last.reason == Name(reason)) {
      last.time = now;
      ++last.repeats;
      return;
    }
  }
  latest_.push_front({.time = now,
                      .method = std::string(method),
                      .code = code,
                      .reason = std::string(Name(reason)),
                      .message = std::string(status.message().substr(0, kMaxMessageBytes))});
  if (latest_.size() > kKept) latest_.pop_back();
}

std::vector<FailureRecord> ErrorJournal::Latest() const {
  absl::MutexLock lock(&mu_);
  return {latest_.begin(), latest_.end()};
}

}  // namespace winnow::server
