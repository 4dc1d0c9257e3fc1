#include "server/rpc/server_queue.h"

#include <chrono>
#include <utility>

#include "grpc/support/time.h"
#include "winnow/kernels/time_slice.h"

namespace winnow::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A thread that sleeps is woken 20 to 50 us after its event, as long as a small request takes in
// all. So a queue whose events follow each other quickly is looked at for a moment before its
// thread goes to sleep; one without traffic never is. It does not yield between two looks: where
// others want the core that gives away a time slice, milliseconds to save the microseconds here.
constexpr std::chrono::microseconds kShortWait(100);
constexpr std::chrono::microseconds kSpinTime(50);

thread_local const ServerQueue* polled_here = nullptr;

}  // namespace

bool ServerQueue::IsPollingThread() const { return polled_here == this; }

void ServerQueue::Poll() {
  polled_here = this;
  AskForShortTimeSlices();
  Event event;
  while (true) {
    const auto status = idlers.empty() ? Await(event) : Look(event);
    if (status == grpc::CompletionQueue::GOT_EVENT) {
      event.tag->OnEvent(event.ok);
      continue;
    }
    for (QueueIdler* idler : std::exchange(idlers, {})) idler->OnQueueEmpty();
    if (status == grpc::CompletionQueue::SHUTDOWN) break;
  }
  polled_here = nullptr;
}

ServerQueue::Status ServerQueue::Look(Event& event) {
  void* tag = nullptr;
  const Status status = queue->AsyncNext(&tag, &event.ok, gpr_inf_past(GPR_CLOCK_MONOTONIC));
  event.tag = static_cast<CompletionTag*>(tag);
  return status;
}

ServerQueue::Status ServerQueue::Await(Event& event) {
  // No clock is read while events are there already.
  if (spins) {
    const Status status = Look(event);
    if (status != grpc::CompletionQueue::TIMEOUT) return status;
  }
  const auto begin = SteadyClock::now();
  while (spins && SteadyClock::now() - begin < kSpinTime) {
    const Status status = Look(event);
    if (status != grpc::CompletionQueue::TIMEOUT) return status;
  }
  void* tag = nullptr;
  if (!queue->Next(&tag, &event.ok)) return grpc::CompletionQueue::SHUTDOWN;
  event.tag = static_cast<CompletionTag*>(tag);
  spins = SteadyClock::now() - begin < kShortWait;
  return grpc::CompletionQueue::GOT_EVENT;
}

}  // namespace winnow::server
