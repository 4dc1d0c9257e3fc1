#include "client/loadgen/load_run.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

constexpr int kRequestsOfAConnection = 20;
constexpr absl::Duration kPatience = absl::Seconds(60);  // for the last answers
constexpr size_t kMaxUnchecked = 256;                    // results that wait for their check

std::string NameOf(const absl::Status& status) {
  const std::optional<ErrorInfo> info = GetErrorInfo(status);
  return info.has_value() ? std::string(winnow::Name(info->reason))
                          : absl::StatusCodeToString(status.code());
}

// Whether the mode makes such an error come. A full queue is no failure of a server: it says so.
bool Expected(Chaos chaos, bool malformed, const absl::Status& status) {
  if (malformed) return status.code() == absl::StatusCode::kInvalidArgument;
  if (status.code() == absl::StatusCode::kResourceExhausted) return true;
  return (chaos == Chaos::kCancel && status.code() == absl::StatusCode::kCancelled) ||
         (chaos == Chaos::kDeadline && status.code() == absl::StatusCode::kDeadlineExceeded);
}

// Everything that callbacks write, and the thread that checks results.
class Collector {
 public:
  Collector(Chaos chaos, absl::Time counted_from)
      : chaos_(chaos), counted_from_(counted_from), checker_([this] { Check(); }) {}

  ~Collector() {
    {
      absl::MutexLock lock(&mu_);
      stop_ = true;
    }
    checker_.join();
  }

  void Sent() {
    absl::MutexLock lock(&mu_);
    ++in_flight_;
  }
  void NotSent(absl::Time due) {
    absl::MutexLock lock(&mu_);
    if (due >= counted_from_) ++result_.not_sent;
  }

  template <typename Result>
  void Done(absl::Time due, const Sample& sample, bool malformed, bool verify,
            absl::StatusOr<Result> result) {
    const absl::Time now = absl::Now();
    absl::MutexLock lock(&mu_);
    --in_flight_;
    if (malformed && result.ok()) Wrong("an invalid request was answered");
    if (due >= counted_from_) Count(due, now, malformed, result);
    if (!result.ok() || malformed || !verify || unchecked_.size() >= kMaxUnchecked) return;
    auto shared = std::make_shared<Result>(*std::move(result));
    unchecked_.push_back([&sample, shared] { return sample.Check(*shared); });
  }

  // True when fewer than `bound` calls are in flight, waiting until `deadline` for it.
  bool AwaitBelow(int64_t bound, absl::Time deadline) {
    absl::MutexLock lock(&mu_);
    const auto below = [&] { return in_flight_ < bound; };
    return mu_.AwaitWithDeadline(absl::Condition(&below), deadline);
  }
  void AwaitChecks() {
    absl::MutexLock lock(&mu_);
    const auto idle = [this] { return unchecked_.empty() && !checking_; };
    mu_.Await(absl::Condition(&idle));
  }
  RunResult result() const {
    absl::MutexLock lock(&mu_);
    return result_;
  }

 private:
  template <typename Result>
  void Count(absl::Time due, absl::Time now, bool malformed, const absl::StatusOr<Result>& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!result.ok()) {
      const std::string name = NameOf(result.status());
      ++result_.errors[name];
      if (!Expected(chaos_, malformed, result.status())) ++result_.unexpected[name];
      return;
    }
    ++result_.ok;
    result_.latency.Record(now - due);
    result_.queue.Record(result->timing.queue);
    result_.launch.Record(result->timing.launch);
    result_.device.Record(result->timing.device);
  }

  void Wrong(std::string what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (result_.wrong++ == 0) result_.first_wrong = std::move(what);
  }

  void Check() {
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

// Sends, from one thread.
class Sender {
 public:
  Sender(const RunOptions& options, Workload& workload,
         const std::function<absl::StatusOr<client::Client>()>& connect, Collector& collector)
      : options_(options),
        workload_(workload),
        connect_(connect),
        collector_(collector),
        random_(options.seed + 1) {}

  absl::Status Send(absl::Time due) {
    WINNOW_RETURN_IF_ERROR(Connect());
    client::CallOptions call{.timeout = options_.timeout, .retry = client::RetryPolicy::Never()};
    if (options_.chaos == Chaos::kDeadline && Chance(0.5)) {
      call.timeout = absl::Microseconds(50 + static_cast<int64_t>(random_() % 1950));
    }
    if (options_.chaos == Chaos::kCancel && Chance(0.33)) {
      std::stop_source stop;
      call.stop = stop.get_token();
      cancels_.push_back({absl::Now() + absl::Microseconds(random_() % 2000), std::move(stop)});
    }
    const Sample& sample = workload_.Next();
    const bool malformed = options_.chaos == Chaos::kMalformed && Chance(0.5);
    const bool verify = Chance(options_.verify);
    collector_.Sent();
    if (sample.shape.operation == Operation::kTopK) {
      client::TopKRequest request = sample.TopK();
      if (malformed) request.k = -1;
      client_->AsyncTopK(request, call)
          .Then(Finish<client::TopKResult>(due, sample, malformed, verify));
    } else {
      client::BlockAmaxRequest request = sample.BlockAmax();
      if (malformed) request.block_size = 3;
      client_->AsyncBlockAmax(request, call)
          .Then(Finish<client::BlockAmaxResult>(due, sample, malformed, verify));
    }
    return absl::OkStatus();
  }

  // Cancels what is due.
  void CancelDue(absl::Time now) {
    cancels_.erase(std::remove_if(cancels_.begin(), cancels_.end(),
                                  [now](Cancel& cancel) {
                                    if (cancel.due > now) return false;
                                    cancel.stop.request_stop();
                                    return true;
                                  }),
                   cancels_.end());
  }

  // Time from one request to the next of an open loop: exponential, so that arrivals are those of
  // many independent callers.
  absl::Duration Gap() {
    std::exponential_distribution<double> gap(options_.rate);
    return absl::Seconds(gap(random_));
  }

 private:
  struct Cancel {
    absl::Time due;
    std::stop_source stop;
  };

  template <typename Result>
  client::ResultCallback<Result> Finish(absl::Time due, const Sample& sample, bool malformed,
                                        bool verify) {
    return [this, due, &sample, malformed, verify](absl::StatusOr<Result> result) {
      collector_.Done(due, sample, malformed, verify, std::move(result));
    };
  }

  absl::Status Connect() {
    const bool churn = options_.chaos == Chaos::kChurn && sent_ % kRequestsOfAConnection == 0;
    ++sent_;
    if (client_.has_value() && !churn) return absl::OkStatus();
    // The end of a client cancels its calls, so the former waits until they are answered.
    if (client_.has_value()) collector_.AwaitBelow(1, absl::Now() + kPatience);
    WINNOW_ASSIGN_OR_RETURN(client_, connect_());
    return absl::OkStatus();
  }

  bool Chance(double share) { return std::uniform_real_distribution<double>()(random_) < share; }

  const RunOptions& options_;
  Workload& workload_;
  const std::function<absl::StatusOr<client::Client>()>& connect_;
  Collector& collector_;
  std::mt19937_64 random_;
  std::optional<client::Client> client_;
  std::vector<Cancel> cancels_;
  int64_t sent_ = 0;
};

absl::Status SendUntil(absl::Time begin, absl::Time end, const RunOptions& options, Sender& sender,
                       Collector& collector, const Progress& progress) {
  absl::Time next_progress = begin + absl::Seconds(1);
  absl::Time due = begin;
  while (true) {
    absl::Time now = absl::Now();
    if (now >= next_progress) {
      progress(now - begin, collector.result());
      next_progress += absl::Seconds(1);
    }
    sender.CancelDue(now);
    if (now >= end) return absl::OkStatus();
    if (options.rate > 0) {
      if (due > now) {
        absl::SleepFor(std::min(due - now, absl::Milliseconds(1)));
        continue;
      }
      if (collector.AwaitBelow(options.in_flight, now)) {
        WINNOW_RETURN_IF_ERROR(sender.Send(due));
      } else {
        collector.NotSent(due);
      }
      due += sender.Gap();
    } else if (collector.AwaitBelow(options.in_flight, now + absl::Milliseconds(1))) {
      WINNOW_RETURN_IF_ERROR(sender.Send(absl::Now()));
    }
  }
}

}  // namespace

absl::StatusOr<Chaos> ParseChaos(absl::string_view name) {
  constexpr std::pair<absl::string_view, Chaos> kNames[] = {{"none", Chaos::kNone},
                                                            {"cancel", Chaos::kCancel},
                                                            {"deadline", Chaos::kDeadline},
                                                            {"malformed", Chaos::kMalformed},
                                                            {"churn", Chaos::kChurn}};
  for (const auto& [known, chaos] : kNames) {
    if (known == name) return chaos;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no chaos \"", name, "\"; take none, cancel, deadline, malformed or churn"));
}

absl::StatusOr<RunResult> RunLoad(const RunOptions& options, Workload& workload,
                                  const std::function<absl::StatusOr<client::Client>()>& connect,
                                  const Progress& progress) {
  const absl::Time begin = absl::Now();
  const absl::Time end = begin + options.warm_up + options.duration;
  Collector collector(options.chaos, begin + options.warm_up);
  Sender sender(options, workload, connect, collector);
  const absl::Status sent = SendUntil(begin, end, options, sender, collector, progress);
  // Also after an error: callbacks use what is on this stack.
  while (!collector.AwaitBelow(1, absl::Now() + absl::Milliseconds(1))) {
    sender.CancelDue(absl::Now());
  }
  WINNOW_RETURN_IF_ERROR(sent);
  collector.AwaitChecks();
  RunResult result = collector.result();
  result.elapsed = options.duration;
  return result;
}

}  // namespace winnow::stress
