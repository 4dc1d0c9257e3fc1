#include "server/base/worker_thread.h"

#include <utility>

namespace winnow::server {

WorkerThread::WorkerThread() : thread_([this] { Loop(); }) {}

WorkerThread::~WorkerThread() {
  {
    absl::MutexLock lock(&mu_);
    stop_ = true;
  }
  thread_.join();
}

void WorkerThread::Run(absl::AnyInvocable<void() &&> work) {
  absl::MutexLock lock(&mu_);
  work_.push_back(std::move(work));
}

void WorkerThread::Loop() {
  while (true) {
    absl::AnyInvocable<void() &&> work;
    {
      absl::MutexLock lock(&mu_, absl::Condition(this, &WorkerThread::Ready));
      if (work_.empty()) return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    std::move(work)();
  }
}

}  // namespace winnow::server
