// One caller's request while it is queued and running.

#ifndef WINNOW_SERVER_BATCHING_TASK_H_
#define WINNOW_SERVER_BATCHING_TASK_H_

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/backend/work.h"

namespace winnow::server {

// Decides which queue a task waits in. A large task never delays a small one by more than one
// bounded launch.
enum class TaskClass { kInteractive, kBulk };

struct Task {
  WorkItem work;

  int64_t flow_id =
      0;  // requests of one lease or connection share a flow; flows share the device fairly
  int32_t flow_weight = 1;
  absl::Time deadline = absl::InfiniteFuture();  // of the queue: a task past it is never launched

  // Called exactly once, from a thread of the scheduler or the backend or from inside Submit, with
  // no lock held.
  // `task.work.status` is the outcome: Ok with results, or why not (DEADLINE_EXPIRED,
  // REQUEST_CANCELLED, SERVER_DRAINING, a fault, ...).
  absl::AnyInvocable<void(std::unique_ptr<Task> task) &&> done;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BATCHING_TASK_H_
