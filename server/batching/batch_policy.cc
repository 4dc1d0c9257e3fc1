#include "server/batching/batch_policy.h"

namespace winnow::server {

NextLaunch ChooseNextLaunch(const SchedulerOptions& options, const QueueSnapshot& snapshot) {
  if (snapshot.free_slots <= 0) return NextLaunch::kNone;
  const bool bulk_may_run =
      snapshot.bulk_tasks > 0 && snapshot.bulk_launches < options.max_bulk_launches;
  if (bulk_may_run && snapshot.interactive_since_bulk >= options.interactive_per_bulk) {
    return NextLaunch::kBulk;
  }
  if (snapshot.interactive_tasks > 0 &&
      snapshot.interactive_launches < options.max_interactive_launches) {
    return NextLaunch::kInteractive;
  }
  return bulk_may_run ? NextLaunch::kBulk : NextLaunch::kNone;
}

TaskClass ClassOf(const SchedulerOptions& options, int64_t rows, int64_t input_bytes) {
  const bool small = rows <= options.interactive_rows && input_bytes <= options.interactive_bytes;
  return small ? TaskClass::kInteractive : TaskClass::kBulk;
}

BatchLimits LimitsOf(const SchedulerOptions& options, TaskClass task_class) {
  if (task_class == TaskClass::kInteractive) {
    return {.items = options.max_batch_items,
            .rows = options.max_batch_rows,
            .bytes = options.max_batch_bytes};
  }
  return {.items = options.max_batch_items,
          .rows = options.bulk_launch_rows,
          .bytes = options.bulk_launch_bytes};
}

}  // namespace winnow::server
