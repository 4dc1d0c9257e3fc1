// Which class of tasks is launched next. A pure function, so that it is tested without threads.

#ifndef WINNOW_SERVER_BATCHING_BATCH_POLICY_H_
#define WINNOW_SERVER_BATCHING_BATCH_POLICY_H_

#include <cstdint>

#include "server/batching/flow_queue.h"
#include "server/batching/scheduler.h"
#include "server/batching/task.h"

namespace winnow::server {

// What the scheduler knows when a launch slot may be free.
struct QueueSnapshot {
  int32_t free_slots = 0;
  int64_t interactive_tasks = 0;       // waiting
  int32_t interactive_launches = 0;    // in flight, but for those that wait for a word
  int64_t bulk_tasks = 0;              // waiting, partly launched ones included
  int32_t bulk_launches = 0;           // in flight
  int32_t interactive_since_bulk = 0;  // launches since the last bulk launch while bulk waited
};

enum class NextLaunch { kNone, kInteractive, kBulk };

// Interactive work goes first, in at most options.max_interactive_launches slots, so that what
// arrives while those are taken is launched together. Bulk work has at most
// options.max_bulk_launches slots, and gets one launch after options.interactive_per_bulk
// interactive ones, so that it never starves.
NextLaunch ChooseNextLaunch(const SchedulerOptions& options, const QueueSnapshot& snapshot);

// By the rows of one launch and the input bytes of all.
TaskClass ClassOf(const SchedulerOptions& options, int64_t rows, int64_t input_bytes);

BatchLimits LimitsOf(const SchedulerOptions& options, TaskClass task_class);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BATCHING_BATCH_POLICY_H_
