// The scheduler: one mutex over plain data, launches and callbacks outside of it.
//
// Who runs what: Submit and the backend's completion thread choose the next launches under the
// mutex and start them after it; the completion thread calls `done` of what it finished. One thread
// of the scheduler, the reaper, calls `done` of tasks that end without a launch (expired,
// cancelled, drained) and `idle` of flows whose last task is over, so that no caller is called back
// from inside its own call. `idle` of a flow without tasks is called by whoever ended it.

#ifndef WINNOW_SERVER_BATCHING_SCHEDULER_IMPL_H_
#define WINNOW_SERVER_BATCHING_SCHEDULER_IMPL_H_

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/batching/batch_policy.h"
#include "server/batching/flow_queue.h"
#include "server/batching/pending_task.h"
#include "server/batching/scheduler.h"

namespace winnow::server {

class SchedulerImpl final : public Scheduler {
 public:
  SchedulerImpl(const SchedulerOptions& options, Backend* backend, Clock* clock);
  ~SchedulerImpl() override;

  absl::StatusOr<TaskId> Submit(std::unique_ptr<Task>& task) override;
  bool Cancel(TaskId id) override;
  void EndFlow(int64_t flow_id, absl::AnyInvocable<void() &&> idle) override;
  SchedulerStats stats() const override;
  void BeginDrain() override;
  void Drain(absl::Time deadline) override;

 private:
  using Launches = std::vector<std::unique_ptr<PendingLaunch>>;
  using Idle = absl::AnyInvocable<void() &&>;
  // Work of one flow that is not over, and who wants to know when it is.
  struct FlowState {
    int64_t unfinished_tasks = 0;
    std::vector<Idle> idle;
  };

  absl::Status Admit(const Task& task, int64_t host_bytes, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  FlowQueue& QueueOf(TaskClass task_class) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // What the policy decides by, with `arriving` interactive tasks more than there are.
  QueueSnapshot Snapshot(int64_t arriving) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Chooses launches while the policy wants any.
  void ChooseLaunches(absl::Time now, Launches& launches) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::unique_ptr<PendingLaunch> ChooseLaunch(TaskClass task_class, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether a task that has just come is all of the next launch: nothing of its class waits, and
  // the policy would launch it now. Then it need not pass through the queue, whose fair order has
  // nothing to decide.
  bool GoesAtOnce(const PendingTask& pending) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::unique_ptr<PendingLaunch> LaunchAlone(PendingTask* pending, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountLaunch(PendingLaunch& launch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AddPart(const FlowQueue::Part& part, absl::Time now, PendingLaunch& launch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Hands launches to the backend. The last one may be the last touch of this object: its tasks,
  // once done, let Drain return.
  // `may_run_inline` as in WorkBatch: for the submitter's thread, so that no chain of completions
  // and launches grows on one stack.
  void Start(Launches launches, bool may_run_inline) ABSL_LOCKS_EXCLUDED(mu_);
  void OnLaunchDone(std::unique_ptr<PendingLaunch> launch) ABSL_LOCKS_EXCLUDED(mu_);
  // Takes the launch's results; returns the task when that was all of it.
  PendingTask* FinishPart(LaunchPart& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Before its `done` is called: whoever hears of its end must find room for the next task.
  void CountFinished(const PendingTask& pending) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Calls `done` of tasks that are over. They are forgotten afterwards.
  void CallDone(const std::vector<PendingTask*>& finished) ABSL_LOCKS_EXCLUDED(mu_);
  // The caller frees what it gives back when it has left the mutex.
  std::unique_ptr<PendingTask> Forget(PendingTask* pending) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The rest of a task that left its queue is not launched, for `why`.
  void Drop(FlowQueue::Entry* entry, const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropAll(const std::vector<FlowQueue::Entry*>& entries, const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Ends the waits for words of running tasks: those of one flow, or of all.
  void EndWaits(std::optional<int64_t> flow_id, WaitEnd why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void RunReaper() ABSL_LOCKS_EXCLUDED(mu_);
  void WakeReaper() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const SchedulerOptions options_;
  Backend* const backend_;
  Clock* const clock_;

  mutable absl::Mutex mu_;
  FlowQueue interactive_ ABSL_GUARDED_BY(mu_);
  FlowQueue bulk_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<TaskId, std::unique_ptr<PendingTask>> tasks_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<int64_t, FlowState> flows_ ABSL_GUARDED_BY(mu_);
  TaskId next_id_ ABSL_GUARDED_BY(mu_) = 1;
  int32_t free_slots_ ABSL_GUARDED_BY(mu_);
  int32_t bulk_launches_ ABSL_GUARDED_BY(mu_) = 0;
  int32_t interactive_launches_ ABSL_GUARDED_BY(mu_) = 0;  // that wait for no word
  int32_t interactive_since_bulk_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time last_interactive_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();  // when it came
  SchedulerStats stats_ ABSL_GUARDED_BY(mu_);
  // Whether the last task that came had to wait; a hint, read without the lock.
  std::atomic<bool> busy_{false};
  bool draining_ ABSL_GUARDED_BY(mu_) = false;

  // For the reaper.
  std::vector<PendingTask*> dropped_ ABSL_GUARDED_BY(mu_);
  std::vector<Idle> idle_ ABSL_GUARDED_BY(mu_);
  absl::Time timer_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();  // it sleeps until then
  bool reaper_calls_back_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  absl::CondVar reaper_wakes_;
  absl::CondVar drained_;
  // Of tasks that wait for a word, while they are not forgotten.
  absl::flat_hash_map<TaskId, std::shared_ptr<std::atomic<WaitEnd>>> waits_ ABSL_GUARDED_BY(mu_);
  std::thread reaper_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BATCHING_SCHEDULER_IMPL_H_
