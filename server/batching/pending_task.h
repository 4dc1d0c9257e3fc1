// A task from Submit to the end of its `done`. Private to the scheduler.

#ifndef WINNOW_SERVER_BATCHING_PENDING_TASK_H_
#define WINNOW_SERVER_BATCHING_PENDING_TASK_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/batching/flow_queue.h"
#include "server/batching/scheduler.h"
#include "server/batching/task.h"

namespace winnow::server {

// The scheduler's mutex guards it, but for what a launch in flight uses: `task->work` and
// `prepare`.
struct PendingTask {
  FlowQueue::Entry entry;
  TaskId id = 0;
  TaskClass task_class = TaskClass::kInteractive;
  std::unique_ptr<Task> task;
  int64_t host_bytes = 0;
  absl::Time submitted;
  absl::Time launched = absl::InfinitePast();
  int32_t running_parts = 0;  // launches in flight that hold rows of it
  absl::Status dropped;       // why the rest of it is not launched; Ok while all of it is wanted
  std::once_flag prepare;     // of its results, before its first slice
};

// Rows of a task in one launch.
struct LaunchPart {
  PendingTask* pending = nullptr;
  int64_t first_row = 0;
  int64_t rows = 0;
  bool whole = true;              // all rows: the task's own item is launched
  std::optional<WorkItem> slice;  // otherwise
};

// One launch, from the choice of its tasks to its completion.
struct PendingLaunch {
  TaskClass task_class = TaskClass::kInteractive;
  bool gives_way = false;    // bulk work while interactive work comes
  bool shares_turn = false;  // counts as one of the interactive launches that others wait for
  std::vector<LaunchPart> parts;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BATCHING_PENDING_TASK_H_
