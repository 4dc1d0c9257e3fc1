// The way of tasks through the backend: choosing launches, starting them, taking their results.

#include <algorithm>
#include <mutex>
#include <utility>

#include "server/batching/batch_policy.h"
#include "server/batching/row_slices.h"
#include "server/batching/scheduler_impl.h"
#include "server/batching/task_errors.h"

namespace winnow::server {
namespace {

// After an interactive task others like it are expected for so long: some steps of a model that
// decodes.
constexpr absl::Duration kInteractiveMemory = absl::Milliseconds(100);

}  // namespace

QueueSnapshot SchedulerImpl::Snapshot(int64_t arriving) const {
  return {.free_slots = free_slots_,
          .interactive_tasks = interactive_.size() + arriving,
          .interactive_launches = interactive_launches_,
          .bulk_tasks = bulk_.size(),
          .bulk_launches = bulk_launches_,
          .interactive_since_bulk = interactive_since_bulk_};
}

void SchedulerImpl::ChooseLaunches(absl::Time now, Launches& launches) {
  while (true) {
    const NextLaunch next = ChooseNextLaunch(options_, Snapshot(0));
    if (next == NextLaunch::kNone) return;
    const TaskClass task_class =
        next == NextLaunch::kBulk ? TaskClass::kBulk : TaskClass::kInteractive;
    std::unique_ptr<PendingLaunch> launch = ChooseLaunch(task_class, now);
    if (launch->parts.empty()) continue;  // all had expired, so the queue is shorter now
    CountLaunch(*launch);
    launches.push_back(std::move(launch));
  }
}

bool SchedulerImpl::GoesAtOnce(const PendingTask& pending) const {
  if (pending.task_class != TaskClass::kInteractive || interactive_.size() > 0) return false;
  return ChooseNextLaunch(options_, Snapshot(1)) == NextLaunch::kInteractive;
}

std::unique_ptr<PendingLaunch> SchedulerImpl::LaunchAlone(PendingTask* pending, absl::Time now) {
  auto launch = std::make_unique<PendingLaunch>();
  launch->task_class = pending->task_class;
  AddPart({.entry = &pending->entry, .rows = pending->entry.rows}, now, *launch);
  CountLaunch(*launch);
  return launch;
}

void SchedulerImpl::CountLaunch(PendingLaunch& launch) {
  --free_slots_;
  ++stats_.batches;
  if (launch.task_class == TaskClass::kBulk) {
    ++bulk_launches_;
    interactive_since_bulk_ = 0;
    return;
  }
  if (bulk_.size() > 0) ++interactive_since_bulk_;
  // How long another process takes to set a word is nothing that others should wait for. All parts
  // wait for the same one.
  launch.shares_turn = launch.parts.front().pending->task->work.ordering.wait_word == nullptr;
  if (launch.shares_turn) ++interactive_launches_;
}

void SchedulerImpl::AddPart(const FlowQueue::Part& part, absl::Time now, PendingLaunch& launch) {
  auto* pending = static_cast<PendingTask*>(part.entry->owner);
  launch.parts.push_back({.pending = pending,
                          .first_row = part.first_row,
                          .rows = part.rows,
                          .whole = part.first_row == 0 && part.last});
  if (pending->launched == absl::InfinitePast()) {
    pending->launched = now;
    --stats_.queued_tasks;
    ++stats_.running_tasks;
  }
  ++pending->running_parts;
  ++stats_.batched_tasks;
  stats_.batched_rows += part.rows;
}

std::unique_ptr<PendingLaunch> SchedulerImpl::ChooseLaunch(TaskClass task_class, absl::Time now) {
  auto launch = std::make_unique<PendingLaunch>();
  launch->task_class = task_class;
  launch->gives_way =
      task_class == TaskClass::kBulk && now - last_interactive_ < kInteractiveMemory;
  std::vector<FlowQueue::Entry*> expired;
  const auto taken = QueueOf(task_class).Take(LimitsOf(options_, task_class), now, expired);
  launch->parts.reserve(taken.size());
  for (const FlowQueue::Part& part : taken) AddPart(part, now, *launch);
  stats_.expired += static_cast<int64_t>(expired.size());
  DropAll(expired, ExpiredError());
  return launch;
}

void SchedulerImpl::Start(Launches launches, bool may_run_inline) {
  for (std::unique_ptr<PendingLaunch>& launch : launches) {
    auto batch = std::make_unique<WorkBatch>();
    batch->high_priority = launch->task_class == TaskClass::kInteractive;
    batch->may_run_inline = may_run_inline;
    batch->gives_way = launch->gives_way;
    batch->items.reserve(launch->parts.size());
    for (LaunchPart& part : launch->parts) {
      WorkItem& work = part.pending->task->work;
      if (part.whole) {
        batch->items.push_back(&work);
        continue;
      }
      std::call_once(part.pending->prepare, [&work] { PrepareResults(work); });
      part.slice = SliceRows(work, part.first_row, part.rows);
      batch->items.push_back(&*part.slice);
    }
    backend_->Launch(std::move(batch),
                     [this, owned = std::move(launch)](std::unique_ptr<WorkBatch>) mutable {
                       OnLaunchDone(std::move(owned));
                     });
  }
}

PendingTask* SchedulerImpl::FinishPart(LaunchPart& part) {
  PendingTask* pending = part.pending;
  WorkItem& work = pending->task->work;
  if (part.slice.has_value()) {
    MergeSlice(*part.slice, work);
    if (!work.status.ok() && pending->entry.queued()) {
      QueueOf(pending->task_class).Remove(&pending->entry);
    }
  }
  if (--pending->running_parts > 0 || pending->entry.queued()) return nullptr;
  CountFinished(*pending);
  work.timing.queued = pending->launched - pending->submitted;
  return pending;
}

void SchedulerImpl::OnLaunchDone(std::unique_ptr<PendingLaunch> launch) {
  Launches launches;
  std::vector<PendingTask*> finished;
  const absl::Time now = clock_->Now();
  {
    absl::MutexLock lock(&mu_);
    ++free_slots_;
    if (launch->task_class == TaskClass::kBulk) --bulk_launches_;
    if (launch->shares_turn) --interactive_launches_;
    for (LaunchPart& part : launch->parts) {
      PendingTask* pending = FinishPart(part);
      if (pending == nullptr) continue;
      pending->task->work.timing.total = now - pending->submitted;
      finished.push_back(pending);
    }
    ChooseLaunches(now, launches);
  }
  // Slices of finished tasks refer to them.
  launch.reset();
  // The device first: callbacks take their time.
  Start(std::move(launches), /*may_run_inline=*/false);
  if (!finished.empty()) CallDone(finished);
}

}  // namespace winnow::server
