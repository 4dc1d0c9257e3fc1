// The way of a task in and out: Submit, Cancel, EndFlow, Drain and the reaper. scheduler_launch.cc
// has its way through the backend.

#include "server/batching/scheduler.h"

#include <algorithm>
#include <utility>

#include "server/backend/work_key.h"
#include "server/backend/work_shape.h"
#include "server/batching/batch_policy.h"
#include "server/batching/row_slices.h"
#include "server/batching/scheduler_impl.h"
#include "server/batching/task_errors.h"
#include "winnow/kernels/limits.h"

namespace winnow::server {
namespace {

int64_t LaunchRows(const WorkItem& item) {
  int64_t rows = 0;
  for (const Step& step : item.steps) rows = std::max(rows, RowsOf(step));
  return rows;
}

// Launches of bulk work that take a fraction of a millisecond: a GPU reads 128 MiB in 32
// microseconds at best and selects from them in about a hundred, some hundred times faster than a
// CPU, and copies one launch's inputs while it works on another.
// On a GPU one interactive launch is in flight. A second one behind it would begin sooner by the
// time of enqueueing it, but each carries half of the requests then, and 64 clients get an eighth
// fewer answers.
void ChooseLaunchBounds(const BackendInfo& backend, SchedulerOptions& options) {
  const DeviceInfo& device = backend.device;
  const auto choose = [](auto& option, auto otherwise) {
    if (option == 0) option = otherwise;
  };
  choose(options.bulk_launch_rows, device.host_memory ? 256 : 4096);
  choose(options.bulk_launch_bytes, device.host_memory ? int64_t{4} << 20 : int64_t{128} << 20);
  choose(options.max_bulk_launches, device.host_memory ? 1 : 2);
  choose(options.max_interactive_launches, device.host_memory ? backend.launch_slots : 1);
}

SchedulerOptions Resolve(SchedulerOptions options, const BackendInfo& backend) {
  ChooseLaunchBounds(backend, options);
  const auto raise = [](auto& option) {
    using Option = std::remove_reference_t<decltype(option)>;
    option = std::max<Option>(option, 1);
  };
  raise(options.max_queued_tasks);
  raise(options.max_queued_host_bytes);
  raise(options.max_batch_items);
  raise(options.max_batch_rows);
  raise(options.max_batch_bytes);
  raise(options.bulk_launch_rows);
  raise(options.bulk_launch_bytes);
  raise(options.max_bulk_launches);
  raise(options.max_interactive_launches);
  raise(options.interactive_per_bulk);
  options.max_batch_items = std::min(options.max_batch_items, kMaxSegments);
  options.max_bulk_launches = std::min(options.max_bulk_launches, backend.launch_slots);
  return options;
}

std::unique_ptr<PendingTask> MakePending(const SchedulerOptions& options, const Task& task) {
  auto pending = std::make_unique<PendingTask>();
  const WorkCost cost = CostOf(task.work);
  const int64_t rows = LaunchRows(task.work);
  pending->task_class = ClassOf(options, rows, cost.input_bytes);
  pending->host_bytes = cost.host_bytes;
  FlowQueue::Entry& entry = pending->entry;
  entry.flow_id = task.flow_id;
  entry.flow_weight = task.flow_weight;
  entry.deadline = task.deadline;
  entry.rows = rows;
  entry.bytes = cost.input_bytes;
  entry.divisible =
      pending->task_class == TaskClass::kBulk && SliceableRows(task.work) == rows && rows > 0;
  entry.owner = pending.get();
  return pending;
}

}  // namespace

std::unique_ptr<Scheduler> Scheduler::Create(SchedulerOptions options, Backend* backend,
                                             Clock* clock) {
  return std::make_unique<SchedulerImpl>(Resolve(options, backend->info()), backend, clock);
}

SchedulerImpl::SchedulerImpl(const SchedulerOptions& options, Backend* backend, Clock* clock)
    : options_(options),
      backend_(backend),
      clock_(clock),
      free_slots_(std::max(backend->info().launch_slots, 1)),
      reaper_([this] { RunReaper(); }) {}

SchedulerImpl::~SchedulerImpl() {
  Drain(absl::InfinitePast());
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    WakeReaper();
  }
  reaper_.join();
}

FlowQueue& SchedulerImpl::QueueOf(TaskClass task_class) {
  return task_class == TaskClass::kInteractive ? interactive_ : bulk_;
}

absl::Status SchedulerImpl::Admit(const Task& task, int64_t host_bytes, absl::Time now) const {
  if (draining_) return DrainingError();
  if (task.deadline <= now) return ExpiredError();
  if (host_bytes > options_.max_queued_host_bytes) {
    return TooLargeError(host_bytes, options_.max_queued_host_bytes);
  }
  if (stats_.queued_tasks >= options_.max_queued_tasks) {
    return QueueFullError("requests", stats_.queued_tasks, options_.max_queued_tasks);
  }
  if (stats_.queued_host_bytes > options_.max_queued_host_bytes - host_bytes) {
    return QueueFullError("bytes", stats_.queued_host_bytes, options_.max_queued_host_bytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<TaskId> SchedulerImpl::Submit(std::unique_ptr<Task>& task) {
  std::unique_ptr<PendingTask> made = MakePending(options_, *task);
  // Not under the lock when it will be needed; a task that is alone is compared with no other.
  if (busy_.load(std::memory_order_relaxed)) made->entry.key = BatchKey(task->work);
  const absl::Time now = clock_->Now();
  Launches launches;
  TaskId id = 0;
  {
    absl::MutexLock lock(&mu_);
    if (absl::Status status = Admit(*task, made->host_bytes, now); !status.ok()) {
      if (status.code() == absl::StatusCode::kResourceExhausted) ++stats_.rejected_full;
      if (status.code() == absl::StatusCode::kDeadlineExceeded) ++stats_.expired;
      return status;
    }
    PendingTask* pending = made.get();
    id = pending->id = pending->entry.sequence = next_id_++;
    pending->submitted = now;
    pending->task = std::move(task);
    if (WorkOrdering& ordering = pending->task->work.ordering; ordering.wait_word != nullptr) {
      ordering.wait_end = std::make_shared<std::atomic<WaitEnd>>(WaitEnd::kNone);
      waits_.emplace(id, ordering.wait_end);
    }
    tasks_.emplace(id, std::move(made));
    ++flows_[pending->entry.flow_id].unfinished_tasks;
    if (pending->task_class == TaskClass::kInteractive) last_interactive_ = now;
    ++stats_.submitted;
    ++stats_.queued_tasks;
    stats_.queued_host_bytes += pending->host_bytes;
    const bool at_once = GoesAtOnce(*pending);
    busy_.store(!at_once, std::memory_order_relaxed);
    if (at_once) {
      launches.push_back(LaunchAlone(pending, now));
    } else {
      if (pending->entry.key.empty()) pending->entry.key = BatchKey(pending->task->work);
      QueueOf(pending->task_class).Push(&pending->entry);
      ChooseLaunches(now, launches);
      if (pending->entry.queued() && pending->entry.deadline < timer_) WakeReaper();
    }
  }
  Start(std::move(launches), /*may_run_inline=*/true);
  return id;
}

bool SchedulerImpl::Cancel(TaskId id) {
  absl::MutexLock lock(&mu_);
  const auto found = tasks_.find(id);
  if (found == tasks_.end() || !found->second->entry.queued()) return false;
  PendingTask* pending = found->second.get();
  QueueOf(pending->task_class).Remove(&pending->entry);
  ++stats_.cancelled;
  Drop(&pending->entry, CancelledError());
  return true;
}

void SchedulerImpl::EndFlow(int64_t flow_id, absl::AnyInvocable<void() &&> idle) {
  {
    absl::MutexLock lock(&mu_);
    for (const TaskClass task_class : {TaskClass::kInteractive, TaskClass::kBulk}) {
      const auto entries = QueueOf(task_class).RemoveFlow(flow_id);
      stats_.cancelled += static_cast<int64_t>(entries.size());
      DropAll(entries, CancelledError());
    }
    EndWaits(flow_id, WaitEnd::kLeaseEnded);
    const auto flow = flows_.find(flow_id);
    if (flow != flows_.end()) return flow->second.idle.push_back(std::move(idle));
  }
  // Whoever asked for the end finds everything gone when he is answered.
  std::move(idle)();
}

SchedulerStats SchedulerImpl::stats() const {
  absl::MutexLock lock(&mu_);
  return stats_;
}

void SchedulerImpl::BeginDrain() {
  absl::MutexLock lock(&mu_);
  draining_ = true;
}

void SchedulerImpl::Drain(absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  draining_ = true;
  while (!tasks_.empty() || !idle_.empty() || reaper_calls_back_) {
    if (clock_->Now() >= deadline) {
      for (const TaskClass task_class : {TaskClass::kInteractive, TaskClass::kBulk}) {
        const auto entries = QueueOf(task_class).RemoveAll();
        stats_.cancelled += static_cast<int64_t>(entries.size());
        DropAll(entries, DrainingError());
      }
      EndWaits(std::nullopt, WaitEnd::kDraining);
      deadline = absl::InfiniteFuture();
    }
    clock_->WaitUntil(mu_, drained_, deadline);
  }
}

void SchedulerImpl::EndWaits(std::optional<int64_t> flow_id, WaitEnd why) {
  for (const auto& [id, end] : waits_) {
    if (!flow_id.has_value() || tasks_.at(id)->entry.flow_id == *flow_id) {
      end->store(why, std::memory_order_relaxed);
    }
  }
}

void SchedulerImpl::DropAll(const std::vector<FlowQueue::Entry*>& entries,
                            const absl::Status& why) {
  for (FlowQueue::Entry* entry : entries) Drop(entry, why);
}

void SchedulerImpl::Drop(FlowQueue::Entry* entry, const absl::Status& why) {
  auto* pending = static_cast<PendingTask*>(entry->owner);
  pending->dropped = why;
  // The last of its launches finishes it.
  if (pending->running_parts > 0) return;
  CountFinished(*pending);
  dropped_.push_back(pending);
  WakeReaper();
}

void SchedulerImpl::CountFinished(const PendingTask& pending) {
  --(pending.launched == absl::InfinitePast() ? stats_.queued_tasks : stats_.running_tasks);
  stats_.queued_host_bytes -= pending.host_bytes;
  ++stats_.completed;
}

std::unique_ptr<PendingTask> SchedulerImpl::Forget(PendingTask* pending) {
  const auto flow = flows_.find(pending->entry.flow_id);
  if (--flow->second.unfinished_tasks == 0) {
    for (Idle& idle : flow->second.idle) idle_.push_back(std::move(idle));
    if (!flow->second.idle.empty()) WakeReaper();
    flows_.erase(flow);
  }
  waits_.erase(pending->id);
  auto node = tasks_.extract(TaskId{pending->id});
  if (draining_ && tasks_.empty()) drained_.SignalAll();
  return std::move(node.mapped());
}

void SchedulerImpl::CallDone(const std::vector<PendingTask*>& finished) {
  for (PendingTask* pending : finished) {
    std::unique_ptr<Task> task = std::move(pending->task);
    if (!pending->dropped.ok()) task->work.status = std::move(pending->dropped);
    auto done = std::move(task->done);
    std::move(done)(std::move(task));
  }
  // What they hold is freed without the lock, which every submitter wants.
  std::vector<std::unique_ptr<PendingTask>> forgotten;
  forgotten.reserve(finished.size());
  absl::MutexLock lock(&mu_);
  for (PendingTask* pending : finished) forgotten.push_back(Forget(pending));
}

void SchedulerImpl::WakeReaper() { reaper_wakes_.Signal(); }

void SchedulerImpl::RunReaper() {
  absl::MutexLock lock(&mu_);
  while (true) {
    const absl::Time now = clock_->Now();
    for (const TaskClass task_class : {TaskClass::kInteractive, TaskClass::kBulk}) {
      const auto entries = QueueOf(task_class).RemoveExpired(now);
      stats_.expired += static_cast<int64_t>(entries.size());
      DropAll(entries, ExpiredError());
    }
    if (!dropped_.empty() || !idle_.empty()) {
      std::vector<PendingTask*> dropped = std::exchange(dropped_, {});
      std::vector<Idle> idle = std::exchange(idle_, {});
      reaper_calls_back_ = true;
      mu_.Unlock();
      CallDone(dropped);
      for (Idle& call : idle) std::move(call)();
      mu_.Lock();
      reaper_calls_back_ = false;
      if (draining_) drained_.SignalAll();
      continue;
    }
    if (stopping_) return;
    timer_ = std::min(interactive_.NextDeadline(), bulk_.NextDeadline());
    clock_->WaitUntil(mu_, reaper_wakes_, timer_);
  }
}

}  // namespace winnow::server
