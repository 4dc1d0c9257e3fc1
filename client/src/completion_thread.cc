#include "client/src/completion_thread.h"

#include <grpcpp/alarm.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"

namespace winnow::client {
namespace {

// Owns itself until it has rung. Shared, because Start may still hold its mutex when it rings.
class PendingTimer final : public Completion {
 public:
  static void Start(grpc::CompletionQueue* queue, absl::Duration delay, std::stop_token stop,
                    absl::AnyInvocable<void() &&> done) {
    const auto timer = std::make_shared<PendingTimer>();
    timer->self_ = timer;
    timer->done_ = std::move(done);
    timer->stop_callback_.emplace(std::move(stop), Ring{timer.get()});
    // A stop that came before this point found no alarm to cancel.
    absl::MutexLock lock(&timer->mutex_);
    if (timer->stopped_) delay = absl::ZeroDuration();
    timer->alarm_.Set(queue, absl::ToChronoTime(absl::Now() + delay), timer.get());
  }

  void Complete(bool) override {
    const std::shared_ptr<PendingTimer> self = std::move(self_);
    stop_callback_.reset();
    std::move(done_)();
  }

 private:
  struct Ring {
    PendingTimer* timer;
    void operator()() const {
      absl::MutexLock lock(&timer->mutex_);
      timer->stopped_ = true;
      timer->alarm_.Cancel();
    }
  };

  std::shared_ptr<PendingTimer> self_;
  absl::AnyInvocable<void() &&> done_;
  std::optional<std::stop_callback<Ring>> stop_callback_;
  absl::Mutex mutex_;  // orders setting the alarm and cancelling it
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Alarm alarm_;
};

}  // namespace

struct CompletionThread::State {
  grpc::CompletionQueue queue;
  std::atomic<std::thread::id> thread_id;

  void Run() {
    thread_id = std::this_thread::get_id();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) static_cast<Completion*>(tag)->Complete(ok);
  }
};

CompletionThread::CompletionThread() : state_(std::make_shared<State>()) {}

CompletionThread::~CompletionThread() {
  state_->queue.Shutdown();
  if (!thread_.joinable()) {
    // A queue must be empty when it is destroyed, which only Next can tell.
    state_->Run();
  } else if (IsCurrent()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

grpc::CompletionQueue* CompletionThread::queue() {
  std::call_once(started_, [this] { thread_ = std::thread([state = state_] { state->Run(); }); });
  return &state_->queue;
}

bool CompletionThread::IsCurrent() const {
  return state_->thread_id.load() == std::this_thread::get_id();
}

absl::Time CompletionThread::Now() const {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

void CompletionThread::After(absl::Duration delay, std::stop_token stop,
                             absl::AnyInvocable<void() &&> done) {
  PendingTimer::Start(queue(), delay, std::move(stop), std::move(done));
}

}  // namespace winnow::client
