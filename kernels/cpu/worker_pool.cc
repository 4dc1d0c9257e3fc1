#include "kernels/cpu/worker_pool.h"

#include <algorithm>

#include "hwy/cache_control.h"

namespace winnow::cpu {
namespace {

// How often a caller looks whether the helpers' last items are done before it sleeps: some tens of
// microseconds, about what falling asleep and being woken costs.
constexpr int kLooksBeforeSleep = 500;

}  // namespace

WorkerPool::WorkerPool(int32_t threads) {
  for (int32_t i = 1; i < threads; ++i) workers_.emplace_back([this] { WorkerLoop(); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  has_work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void WorkerPool::Help(Job& job) {
  // Relaxed: the items' data is published by the mutex that handed out the job.
  for (int64_t i = job.next.fetch_add(1, std::memory_order_relaxed); i < job.count;
       i = job.next.fetch_add(1, std::memory_order_relaxed)) {
    job.work(i);
    GivingWay::EndTurnIfDue();
  }
}

void WorkerPool::Run(int64_t count, absl::FunctionRef<void(int64_t)> work) {
  if (count <= 1 || workers_.empty()) {
    for (int64_t i = 0; i < count; ++i) {
      work(i);
      GivingWay::EndTurnIfDue();
    }
    return;
  }
  Job job{work, count};
  {
    std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(&job);
  }
  const int64_t wanted = std::min<int64_t>(count - 1, workers_.size());
  for (int64_t i = 0; i < wanted; ++i) has_work_.notify_one();
  Help(job);
  for (int i = 0; i < kLooksBeforeSleep; ++i) {
    if (job.helpers.load(std::memory_order_relaxed) == 0) break;
    hwy::Pause();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  // No item is left, so no other thread may start on the job; those inside finish their last item.
  const auto place = std::find(jobs_.begin(), jobs_.end(), &job);
  if (place != jobs_.end()) jobs_.erase(place);
  job_left_.wait(lock, [&] { return job.helpers == 0; });
}

void WorkerPool::WorkerLoop() {
  AskForLongTimeSlices();
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    has_work_.wait(lock, [this] { return closing_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job& job = *jobs_.front();
    ++job.helpers;
    lock.unlock();
    {
      const GivingWay giving_way(job.gives_way);
      Help(job);
    }
    lock.lock();
    // Found empty: take it off the list, unless its owner or another thread already did.
    const auto place = std::find(jobs_.begin(), jobs_.end(), &job);
    if (place != jobs_.end()) jobs_.erase(place);
    if (--job.helpers == 0) job_left_.notify_all();
  }
}

}  // namespace winnow::cpu
