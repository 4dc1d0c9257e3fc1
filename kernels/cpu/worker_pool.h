// Threads that share the rows of an operation. Any number of callers may run jobs at once; each
// caller works on its own job, and the pool's threads help the oldest one.

#ifndef WINNOW_KERNELS_CPU_WORKER_POOL_H_
#define WINNOW_KERNELS_CPU_WORKER_POOL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "winnow/kernels/time_slice.h"

namespace winnow::cpu {

class WorkerPool {
 public:
  // `threads` in all, the caller of Run among them; at least 1.
  explicit WorkerPool(int32_t threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int32_t threads() const { return static_cast<int32_t>(workers_.size()) + 1; }

  // Calls `work(i)` once for each i in [0, count), in any order, on up to threads() threads, and
  // returns when all calls have returned. All of them give way when the caller does (GivingWay in
  // time_slice.h). `work` must not call Run. Thread-safe.
  void Run(int64_t count, absl::FunctionRef<void(int64_t)> work);

 private:
  struct Job {
    absl::FunctionRef<void(int64_t)> work;
    int64_t count;
    const bool gives_way = GivingWay::Here();
    std::atomic<int64_t> next{0};
    // Threads of the pool inside Help. Changed under mutex_; a look without it is a hint only.
    std::atomic<int32_t> helpers{0};
  };

  void WorkerLoop();
  static void Help(Job& job);

  std::mutex mutex_;                  // guards jobs_, closing_ and changes of Job::helpers
  std::condition_variable has_work_;  // a job was added, or closing_
  std::condition_variable job_left_;  // a job's helpers became 0
  std::deque<Job*> jobs_;             // those that may have items left, oldest first
  bool closing_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_WORKER_POOL_H_
