// One thread that runs what it is given, in order: for work that is too long for a thread that
// others wait for.

#ifndef WINNOW_SERVER_BASE_WORKER_THREAD_H_
#define WINNOW_SERVER_BASE_WORKER_THREAD_H_

#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

namespace winnow::server {

// Thread safety: safe to call from several threads. The destructor finishes what was given.
class WorkerThread {
 public:
  WorkerThread();
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  void Run(absl::AnyInvocable<void() &&> work);

 private:
  void Loop();
  bool Ready() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stop_ || !work_.empty(); }

  absl::Mutex mu_;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<absl::AnyInvocable<void() &&>> work_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BASE_WORKER_THREAD_H_
