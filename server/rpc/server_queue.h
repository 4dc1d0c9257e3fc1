// A completion queue and the one thread that polls it. Next: unary_call.h and stream_call.h for
// what its events mean.

#ifndef WINNOW_SERVER_RPC_SERVER_QUEUE_H_
#define WINNOW_SERVER_RPC_SERVER_QUEUE_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/completion_queue.h"

namespace winnow::server {

// What a completion queue gives back when something happened.
class CompletionTag {
 public:
  virtual ~CompletionTag() = default;
  virtual void OnEvent(bool ok) = 0;
};

// Who puts something off until the queue has no event left.
class QueueIdler {
 public:
  virtual ~QueueIdler() = default;
  virtual void OnQueueEmpty() = 0;
};

// Operations are started on it with the lock held shared, until it is closed.
struct ServerQueue {
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  absl::Mutex mu;
  bool closed ABSL_GUARDED_BY(mu) = false;

  // Handles events until the queue is shut down and empty. Called by one thread, once.
  void Poll();
  // Whether the calling thread is the one inside Poll.
  bool IsPollingThread() const;
  // Has `idler` called once, by Poll, as soon as no event waits. On the polling thread; `idler`
  // lives until then.
  void CallWhenEmpty(QueueIdler* idler) { idlers.push_back(idler); }

  // Of the polling thread.
  std::vector<QueueIdler*> idlers;
  bool spins = false;  // the last event came soon

 private:
  using Status = grpc::CompletionQueue::NextStatus;
  struct Event {
    CompletionTag* tag = nullptr;
    bool ok = false;
  };

  // The next event, if there is one now.
  Status Look(Event& event);
  // Waits for the next event.
  Status Await(Event& event);
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_SERVER_QUEUE_H_
