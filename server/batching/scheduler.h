// Queues tasks, groups compatible ones and keeps the backend's launch slots busy.
//
// An idle backend launches at once, without a waiting timer; a busy one collects what arrives
// meanwhile. Between flows weighted fair, within a flow earliest deadline first. Bulk work is cut
// into launches of bounded size. Thread safety: all methods may be called from several threads.

#ifndef WINNOW_SERVER_BATCHING_SCHEDULER_H_
#define WINNOW_SERVER_BATCHING_SCHEDULER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/backend/backend.h"
#include "server/base/clock.h"
#include "server/batching/task.h"

namespace winnow::server {

struct SchedulerOptions {
  int64_t max_queued_tasks = 4096;
  int64_t max_queued_host_bytes = int64_t{1} << 30;  // inline bytes of queued and running tasks
  int32_t max_batch_items = 256;                     // at most kMaxSegments
  int64_t max_batch_rows = 8192;
  int64_t max_batch_bytes = int64_t{256} << 20;   // input bytes of one launch
  int64_t interactive_rows = 64;                  // tasks of at most so many rows are interactive
  int64_t interactive_bytes = int64_t{32} << 20;  // and of at most so many input bytes
  // Bulk tasks are cut into launches of at most so many rows and input bytes: what a small task may
  // have to wait for. 0: chosen for the device, a fraction of a millisecond of its time.
  int64_t bulk_launch_rows = 0;
  int64_t bulk_launch_bytes = 0;
  int32_t max_bulk_launches = 0;  // of bulk work in flight at once; 0: chosen for the device
  // Of interactive work in flight at once; what arrives meanwhile shares the next one. Launches
  // that wait for another process's word do not count. 0: chosen for the device.
  int32_t max_interactive_launches = 0;
  int32_t interactive_per_bulk = 8;  // after so many interactive launches a waiting bulk one goes
};

struct SchedulerStats {
  int64_t queued_tasks = 0;
  int64_t running_tasks = 0;
  int64_t queued_host_bytes = 0;
  int64_t submitted = 0;
  int64_t completed = 0;
  int64_t rejected_full = 0;
  int64_t expired = 0;
  int64_t cancelled = 0;
  int64_t batches = 0;
  int64_t batched_tasks = 0;
  int64_t batched_rows = 0;
};

// Identifies a submitted task for Cancel. Never reused.
using TaskId = int64_t;

class Scheduler {
 public:
  // `backend` and `clock` outlive the scheduler. Options below 1 count as 1, but for
  // those where 0 has a meaning.
  static std::unique_ptr<Scheduler> Create(SchedulerOptions options, Backend* backend,
                                           Clock* clock);
  virtual ~Scheduler() = default;  // Drain first

  // Takes the task and calls its `done` exactly once, or refuses at once and leaves `task`
  // and its `done` with the caller: ResourceExhausted (QUEUE_FULL, with used and limit;
  // MESSAGE_TOO_LARGE when it could never be taken), Unavailable (SERVER_DRAINING),
  // DeadlineExceeded (DEADLINE_EXPIRED). `task.work` has passed CheckItem. With a slot free the
  // backend's Launch is called before this returns, and small work on an idle CPU backend is done
  // there: `done` may be called on this thread before Submit returns.
  virtual absl::StatusOr<TaskId> Submit(std::unique_ptr<Task>& task) = 0;

  // A queued task finishes with Cancelled (REQUEST_CANCELLED) and never launches; a running one
  // completes as it would have. Of a bulk task whose launches are not all made the rest is dropped,
  // and it finishes with Cancelled. False when the task is not queued any more. `done` is not
  // called from inside.
  virtual bool Cancel(TaskId id) = 0;

  // Cancels every queued task of a flow and calls `idle` once, when its running tasks are done too
  // and their `done` has returned: from inside when the flow has no task, else later. Running tasks
  // that wait for a word wait no longer: Unavailable (LEASE_ENDED). No task of the flow may be
  // submitted after.
  virtual void EndFlow(int64_t flow_id, absl::AnyInvocable<void() &&> idle) = 0;

  virtual SchedulerStats stats() const = 0;

  // Refuses new tasks with Unavailable (SERVER_DRAINING) from now on.
  virtual void BeginDrain() = 0;

  // Begins to drain if that is not done, finishes what is queued and running until `deadline`, then
  // fails what is still queued or waits for a word with Unavailable (SERVER_DRAINING), and waits
  // for what runs. Every `done` has returned when this returns.
  virtual void Drain(absl::Time deadline) = 0;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BATCHING_SCHEDULER_H_
