// What queueing, batching and the backend cost for the smallest TopK: one row of 64 scores, k 8, on
// the CPU. Kernel time is part of it (well below a microsecond); gRPC is not.
//
//   scheduler_bench [ITEMS]      prints microseconds per item with 1, 16 and 64 requests in flight,
//                                then the latency of a row of 16K scores every 2 ms, alone and
//                                beside tasks of 2,048 such rows, one of which is always in flight

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "server/backend/backend_factory.h"
#include "server/backend/work_key.h"
#include "server/batching/scheduler.h"
#include "tests/testing/work_items.h"

namespace winnow::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

double MicrosSince(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count();
}

// Keeps `in_flight` requests going until `count` are done; each is submitted when one is done.
class Load {
 public:
  Load(Scheduler* scheduler, int64_t count, int64_t in_flight)
      : scheduler_(scheduler), left_(count), in_flight_(in_flight) {}

  std::vector<double> Run() {
    latencies_.reserve(left_);
    absl::MutexLock lock(&mu_);
    while (left_ > 0 || running_ > 0) {
      while (left_ > 0 && running_ < in_flight_) {
        --left_;
        ++running_;
        mu_.Unlock();
        SubmitOne();
        mu_.Lock();
      }
      if (running_ > 0) changed_.Wait(&mu_);
    }
    return latencies_;
  }

 private:
  void SubmitOne() {
    auto task = std::make_unique<Task>();
    task->work = MakeTopKItem(1, 64, 8);
    if (!CheckItem(task->work).ok()) std::abort();
    const auto start = SteadyClock::now();
    task->done = [this, start](std::unique_ptr<Task> finished) {
      if (!finished->work.status.ok()) std::abort();
      absl::MutexLock lock(&mu_);
      latencies_.push_back(MicrosSince(start));
      --running_;
      changed_.Signal();
    };
    if (!scheduler_->Submit(task).ok()) std::abort();
  }

  Scheduler* const scheduler_;
  absl::Mutex mu_;
  absl::CondVar changed_;
  int64_t left_ ABSL_GUARDED_BY(mu_);
  const int64_t in_flight_;
  int64_t running_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<double> latencies_ ABSL_GUARDED_BY(mu_);
};

// One small task every 2 ms; latencies in microseconds.
std::vector<double> Decode(Scheduler* scheduler, int64_t count) {
  std::vector<double> latencies;
  for (int64_t i = 0; i < count; ++i) {
    auto task = std::make_unique<Task>();
    task->work = MakeTopKItem(1, 16384, 512);
    task->flow_id = 1;
    const auto start = SteadyClock::now();
    absl::Notification done;
    task->done = [&](std::unique_ptr<Task>) {
      latencies.push_back(MicrosSince(start));
      done.Notify();
    };
    if (!scheduler->Submit(task).ok()) std::abort();
    done.WaitForNotification();
    std::this_thread::sleep_until(start + std::chrono::milliseconds(2));
  }
  std::sort(latencies.begin(), latencies.end());
  return latencies;
}

// Keeps one large task in flight while it lives.
class Prefill {
 public:
  explicit Prefill(Scheduler* scheduler) : scheduler_(scheduler) {
    task_ = std::make_unique<Task>();
    task_->work = MakeTopKItem(2048, 16384, 512);
    task_->flow_id = 2;
    Again();
  }
  ~Prefill() {
    stop_ = true;
    stopped_.WaitForNotification();
  }
  int64_t tasks() const { return tasks_; }

 private:
  void Again() {
    task_->done = [this](std::unique_ptr<Task> finished) {
      ++tasks_;
      if (stop_) return stopped_.Notify();
      finished->work.results.clear();
      task_ = std::move(finished);
      Again();
    };
    if (!scheduler_->Submit(task_).ok()) std::abort();
  }

  Scheduler* const scheduler_;
  std::unique_ptr<Task> task_;
  std::atomic<bool> stop_ = false;
  std::atomic<int64_t> tasks_ = 0;
  absl::Notification stopped_;
};

void PrintDecode(const char* name, const std::vector<double>& latencies, int64_t prefills) {
  std::printf("%s,%.1f,%.1f,%ld\n", name, latencies[latencies.size() / 2],
              latencies[latencies.size() * 99 / 100], static_cast<long>(prefills));
}

void DecodeBesidePrefill(Scheduler* scheduler) {
  constexpr int64_t kRequests = 1000;
  std::printf("decode,median_micros,p99_micros,prefill_tasks\n");
  PrintDecode("alone", Decode(scheduler, kRequests), 0);
  Prefill prefill(scheduler);
  const std::vector<double> latencies = Decode(scheduler, kRequests);
  PrintDecode("beside_prefill", latencies, prefill.tasks());
}

int Main(int64_t items) {
  auto backend = OpenBackend({.kind = "cpu", .buffer_pool_bytes = 1 << 20});
  if (!backend.ok()) return 1;
  auto scheduler = Scheduler::Create({}, backend->get(), Clock::Real());
  Load(scheduler.get(), items / 10 + 1, 4).Run();  // warm
  std::printf("in_flight,items,micros_per_item,median_micros,p99_micros,items_per_launch\n");
  for (const int64_t in_flight : {1, 16, 64}) {
    const SchedulerStats before = scheduler->stats();
    const auto start = SteadyClock::now();
    std::vector<double> latencies = Load(scheduler.get(), items, in_flight).Run();
    const double total = MicrosSince(start);
    const SchedulerStats after = scheduler->stats();
    std::sort(latencies.begin(), latencies.end());
    std::printf("%ld,%ld,%.2f,%.1f,%.1f,%.1f\n", static_cast<long>(in_flight),
                static_cast<long>(items), total / static_cast<double>(items),
                latencies[latencies.size() / 2], latencies[latencies.size() * 99 / 100],
                static_cast<double>(after.batched_tasks - before.batched_tasks) /
                    static_cast<double>(after.batches - before.batches));
  }
  DecodeBesidePrefill(scheduler.get());
  scheduler->Drain(absl::InfiniteFuture());
  return 0;
}

}  // namespace
}  // namespace winnow::server

int main(int argc, char** argv) {
  return winnow::server::Main(argc > 1 ? std::max(std::atoll(argv[1]), 1LL) : 10'000);
}
