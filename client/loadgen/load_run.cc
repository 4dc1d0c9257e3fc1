#include "client/loadgen/load_run.h"

#include <algorithm>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/loadgen/collector.h"
#include "client/loadgen/schedule.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

// After the end of an open loop; what is still owed then counts as not sent.
constexpr absl::Duration kLongestLag = absl::Seconds(10);

// Sends, from one thread.
class Sender {
 public:
  Sender(const RunOptions& options, Workload& workload, const Connect& connect,
         Collector& collector)
      : options_(options),
        workload_(workload),
        collector_(collector),
        random_(options.seed + 1),
        caller_(options.chaos, {.display_name = options.lease_name, .device = options.lease_device},
                options.seed + 2, connect, collector) {}

  absl::Status Send(absl::Time due) {
    WINNOW_RETURN_IF_ERROR(caller_.Prepare());
    const Sample& sample = workload_.Next();
    const Sent sent{.due = due,
                    .sample = &sample,
                    .malformed = options_.chaos == Chaos::kMalformed && Chance(0.5),
                    .verify = Chance(options_.verify)};
    collector_.Start();
    absl::StatusOr<client::TensorRef> scores = caller_.Scores(sample);
    if (!scores.ok()) {
      collector_.Done<client::TopKResult>(sent, scores.status());
      return absl::OkStatus();
    }
    Start(sent, *std::move(scores), NextCall());
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

  // Time from one request to the next of an open loop at `rate`: exponential, so that arrivals are
  // those of many independent callers.
  absl::Duration Gap(double rate) {
    std::exponential_distribution<double> gap(rate);
    return absl::Seconds(gap(random_));
  }

 private:
  struct Cancel {
    absl::Time due;
    std::stop_source stop;
  };

  client::CallOptions NextCall() {
    client::CallOptions call{.timeout = options_.timeout, .retry = client::RetryPolicy::Never()};
    if (options_.chaos == Chaos::kDeadline && Chance(0.5)) {
      call.timeout = absl::Microseconds(50 + static_cast<int64_t>(random_() % 1950));
    }
    if (options_.chaos == Chaos::kCancel && Chance(0.33)) {
      std::stop_source stop;
      call.stop = stop.get_token();
      cancels_.push_back({absl::Now() + absl::Microseconds(random_() % 2000), std::move(stop)});
    }
    return call;
  }

  void Start(const Sent& sent, client::TensorRef scores, const client::CallOptions& call) {
    const client::Client client = caller_.client();
    switch (sent.sample->shape.operation) {
      case Operation::kTopK: {
        client::TopKRequest request = sent.sample->TopK(std::move(scores));
        if (sent.malformed) request.k = -1;
        client.AsyncTopK(request, call).Then(Finish<client::TopKResult>(sent));
        return;
      }
      case Operation::kBlockAmax: {
        client::BlockAmaxRequest request = sent.sample->BlockAmax(std::move(scores));
        if (sent.malformed) request.block_size = 3;
        client.AsyncBlockAmax(request, call).Then(Finish<client::BlockAmaxResult>(sent));
        return;
      }
      case Operation::kPublish: {
        client::PublishCandidatesRequest request = sent.sample->Publish(std::move(scores));
        if (sent.malformed) request.k = -1;
        client.AsyncPublishCandidates(request, call)
            .Then(Finish<client::PublishCandidatesResult>(sent));
        return;
      }
      case Operation::kConsume: {
        client::ConsumeCandidatesRequest request = sent.sample->Consume(std::move(scores));
        if (sent.malformed) request.k = -1;
        client.AsyncConsumeCandidates(request, call)
            .Then(Finish<client::ConsumeCandidatesResult>(sent));
        return;
      }
    }
  }

  template <typename Result>
  client::ResultCallback<Result> Finish(const Sent& sent) {
    return [&collector = collector_, sent](absl::StatusOr<Result> result) {
      collector.Done(sent, std::move(result));
    };
  }

  bool Chance(double share) { return std::uniform_real_distribution<double>()(random_) < share; }

  const RunOptions& options_;
  Workload& workload_;
  Collector& collector_;
  std::mt19937_64 random_;
  std::vector<Cancel> cancels_;
  Caller caller_;
};

absl::Status SendUntil(absl::Time begin, absl::Time end, Schedule& schedule, Sender& sender,
                       Collector& collector, const Progress& progress) {
  absl::Time next_progress = begin + absl::Seconds(1);
  while (true) {
    const absl::Time now = absl::Now();
    if (now >= next_progress) {
      progress(now - begin, collector.result());
      next_progress += absl::Seconds(1);
    }
    sender.CancelDue(now);
    if (!schedule.is_open()) {
      if (now >= end) return absl::OkStatus();
      if (collector.AwaitBelow(schedule.Bound(now), now + absl::Milliseconds(1))) {
        WINNOW_RETURN_IF_ERROR(sender.Send(absl::Now()));
      }
      continue;
    }
    // By what is due, not by the clock: a sender that lags must not leave out what it owes.
    if (schedule.due() >= end) return absl::OkStatus();
    if (schedule.due() > now) {
      absl::SleepFor(std::min(schedule.due() - now, absl::Milliseconds(1)));
      continue;
    }
    if (now < end + kLongestLag && collector.AwaitBelow(schedule.Bound(now), now)) {
      WINNOW_RETURN_IF_ERROR(sender.Send(schedule.due()));
    } else {
      collector.NotSent(schedule.due());
    }
    schedule.Advance([&sender](double rate) { return sender.Gap(rate); });
  }
}

}  // namespace

absl::StatusOr<RunResult> RunLoad(const RunOptions& options, Workload& workload,
                                  const Connect& connect, const Progress& progress) {
  const absl::Time begin = absl::Now();
  const absl::Time counted_from = begin + options.ramp + options.warm_up;
  Collector collector(options.chaos, counted_from);
  Sender sender(options, workload, connect, collector);
  Schedule schedule(options, workload.arrivals(), workload.period(), begin);
  const absl::Status sent =
      SendUntil(begin, counted_from + options.duration, schedule, sender, collector, progress);
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
