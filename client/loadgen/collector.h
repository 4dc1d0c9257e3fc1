// Where the answers of a run go: counted, measured, and a share of them checked.

#ifndef WINNOW_CLIENT_LOADGEN_COLLECTOR_H_
#define WINNOW_CLIENT_LOADGEN_COLLECTOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/loadgen/chaos.h"
#include "client/loadgen/run_result.h"
#include "client/loadgen/sample.h"

namespace winnow::stress {

// Of one request, until its answer.
struct Sent {
  absl::Time due;
  const Sample* sample = nullptr;  // outlives the collector
  bool malformed = false;
  bool verify = false;
};

// Thread safety: all methods may be called from several threads. Results are checked on a thread of
// its own; when more than 256 wait, further ones are not checked.
class Collector {
 public:
  // Only what is due from `counted_from` on counts.
  Collector(Chaos chaos, absl::Time counted_from);
  ~Collector();  // checks what waits

  void Start();  // one more is in flight
  void NotSent(absl::Time due);

  template <typename Result>
  void Done(const Sent& sent, absl::StatusOr<Result> result) {
    const absl::Time now = absl::Now();
    absl::MutexLock lock(&mu_);
    --in_flight_;
    if (sent.malformed && result.ok()) Wrong("an invalid request was answered");
    if (sent.due >= counted_from_) {
      if (result.ok()) {
        CountOk(now - sent.due, result->timing);
      } else {
        CountError(sent.malformed, result.status());
      }
    }
    if (!result.ok() || sent.malformed || !sent.verify || unchecked_.size() >= kMaxUnchecked)
      return;
    auto shared = std::make_shared<Result>(*std::move(result));
    unchecked_.push_back([sample = sent.sample, shared] { return sample->Check(*shared); });
  }

  // True when fewer than `bound` calls are in flight, waiting until `deadline` for it.
  bool AwaitBelow(int64_t bound, absl::Time deadline);
  void AwaitChecks();
  RunResult result() const;

 private:
  static constexpr size_t kMaxUnchecked = 256;

  void CountOk(absl::Duration latency, const client::Timing& timing)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountError(bool malformed, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wrong(std::string what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Check();

  const Chaos chaos_;
  const absl::Time counted_from_;
  mutable absl::Mutex mu_;
  RunResult result_ ABSL_GUARDED_BY(mu_);
  int64_t in_flight_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<std::function<absl::Status()>> unchecked_ ABSL_GUARDED_BY(mu_);
  bool checking_ ABSL_GUARDED_BY(mu_) = false;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::thread checker_;
};

}  // namespace winnow::stress

#endif  // WINNOW_CLIENT_LOADGEN_COLLECTOR_H_
