// The thread on which a connection's asynchronous calls and timers complete.

#ifndef WINNOW_CLIENT_SRC_COMPLETION_THREAD_H_
#define WINNOW_CLIENT_SRC_COMPLETION_THREAD_H_

#include <grpcpp/completion_queue.h>

#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "client/src/clock.h"

namespace winnow::client {

// What a completion queue gives back. Complete is called once and usually deletes the object.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void Complete(bool ok) = 0;
};

// A completion queue, polled by one thread that starts with the first use: a client that only makes
// blocking calls has none. Tags of the queue are Completions. Thread safety: all methods may be
// called from several threads; the destructor runs alone, when nothing is pending on the queue.
class CompletionThread final : public Clock {
 public:
  CompletionThread();
  // Ends the thread. May run on the thread itself: it then ends by itself afterwards.
  ~CompletionThread() override;

  CompletionThread(const CompletionThread&) = delete;
  CompletionThread& operator=(const CompletionThread&) = delete;

  grpc::CompletionQueue* queue();
  bool IsCurrent() const;

  absl::Time Now() const override;
  // `done` runs on this thread.
  void After(absl::Duration delay, std::stop_token stop,
             absl::AnyInvocable<void() &&> done) override;

 private:
  struct State;

  // Shared with the thread, which may outlive this object.
  std::shared_ptr<State> state_;
  std::once_flag started_;
  std::thread thread_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_SRC_COMPLETION_THREAD_H_
