// Remembers why requests failed: counts by reason, and the latest failures for the status page.

#ifndef WINNOW_SERVER_RPC_ERROR_JOURNAL_H_
#define WINNOW_SERVER_RPC_ERROR_JOURNAL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/clock.h"
#include "server/base/metrics.h"

namespace winnow::server {

struct FailureRecord {
  absl::Time time;
  std::string method;
  std::string code;     // "INVALID_ARGUMENT"
  std::string reason;   // "K_OUT_OF_RANGE"
  std::string message;  // cut at 200 bytes
  int64_t repeats = 1;  // how many followed with the same method, code and reason
};

// Thread safety: safe to call from several threads.
class ErrorJournal {
 public:
  static constexpr size_t kKept = 50;

  // Both outlive the journal.
  ErrorJournal(MetricsRegistry& metrics, Clock* clock) : metrics_(metrics), clock_(clock) {}

  // `status` is not Ok. Failures like the latest one are counted with it, so that a flood of one
  // kind does not push out the others.
  void Add(absl::string_view method, const absl::Status& status);

  std::vector<FailureRecord> Latest() const;  // newest first

 private:
  static constexpr int kReasons = 64;
  Counter& CounterOf(int reason, absl::string_view name);

  MetricsRegistry& metrics_;
  Clock* const clock_;
  std::array<std::atomic<Counter*>, kReasons> counters_{};
  mutable absl::Mutex mu_;
  std::deque<FailureRecord> latest_ ABSL_GUARDED_BY(mu_);  // newest first
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_ERROR_JOURNAL_H_
