// A thread that finds out when launches are done and hands them on. A backend on a GPU has one:
// with several each launch carried fewer requests. Handing on may mean replying; for many requests
// that is left to a slot, so that the ends of other launches do not wait for it. Next:
// device_backend.h, whose launches these are.

#ifndef WINNOW_SERVER_BACKEND_COMPLETION_THREAD_H_
#define WINNOW_SERVER_BACKEND_COMPLETION_THREAD_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/backend/backend.h"
#include "server/backend/launch_executor.h"

namespace winnow::server {

// A batch that an executor has begun.
struct BegunLaunch {
  LaunchExecutor* executor = nullptr;
  std::unique_ptr<WorkBatch> batch;
  Backend::Done done;
  std::chrono::steady_clock::time_point begun;
};

// How long the thread looks without a pause after a launch has come or gone: about two launches of
// the usual length, because the next end is near then, and never so long that it matters.
// `usual` is the measured mean.
std::chrono::nanoseconds LookTime(std::chrono::nanoseconds usual);
// And how long it sleeps between looks after that, for a launch of that age: an eighth of it, so
// that what is added to a launch stays small beside it.
std::chrono::nanoseconds NapTime(std::chrono::nanoseconds age);

// Sleeps while nothing is under way. Thread safety: all methods may be called from several threads.
class CompletionThread {
 public:
  // Called on the thread for each launch whose executor is Done; it may call Expect and Add.
  using Ended = absl::AnyInvocable<void(BegunLaunch)>;
  explicit CompletionThread(Ended ended);
  // Everything that was added has been handed on when this returns.
  ~CompletionThread();
  CompletionThread(const CompletionThread&) = delete;
  CompletionThread& operator=(const CompletionThread&) = delete;

  // A launch will be added, most likely: wakes the thread, which takes as long as enqueueing does.
  void Expect();
  void Add(BegunLaunch launch);

 private:
  using Clock = std::chrono::steady_clock;

  void Run();
  void TakeAdded() ABSL_LOCKS_EXCLUDED(mu_);
  // Hands on one launch that is done; whether any was.
  bool HandOn(LaunchExecutor::Look look);
  // Until something is added or expected, or the nap is over. False when the thread ends.
  bool Sleep() ABSL_LOCKS_EXCLUDED(mu_);
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Ended ended_;
  absl::Mutex mu_;
  absl::CondVar wakes_;
  std::vector<BegunLaunch> added_ ABSL_GUARDED_BY(mu_);
  bool expected_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::atomic<bool> any_added_{false};  // so that a look takes no lock
  std::atomic<bool> asleep_{false};

  // The thread's own.
  std::vector<BegunLaunch> under_way_;
  Clock::time_point look_until_{};
  std::chrono::nanoseconds usual_{0};
  std::thread thread_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_COMPLETION_THREAD_H_
