// A scheduler and a backend that do what a test tells them, so that the RPC layer is tested without
// either.

#ifndef WINNOW_TESTS_SERVER_RPC_FAKE_SERVICES_H_
#define WINNOW_TESTS_SERVER_RPC_FAKE_SERVICES_H_

#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/backend/backend.h"
#include "server/backend/work_key.h"
#include "server/backend/work_shape.h"
#include "server/batching/scheduler.h"
#include "winnow/kernels/error.h"

namespace winnow::server {

// Holds every task until it is finished or cancelled.
class HoldingScheduler final : public Scheduler {
 public:
  absl::StatusOr<TaskId> Submit(std::unique_ptr<Task>& task) override {
    const bool large = CostOf(task->work).host_bytes > 500'000;
    absl::MutexLock lock(&mu_);
    if (large && holds_large_) {
      ++held_submits_;
      const auto released = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !holds_large_; };
      mu_.Await(absl::Condition(&released));
    }
    if (!refusal_.ok()) return refusal_;
    tasks_[++last_id_] = std::move(task);
    return last_id_;
  }

  bool Cancel(TaskId id) override {
    std::unique_ptr<Task> task = Take(id);
    if (task == nullptr) return false;
    {
      absl::MutexLock lock(&mu_);
      ++cancelled_;
    }
    Finish(std::move(task), MakeError(absl::StatusCode::kCancelled, "cancelled",
                                      {.reason = ErrorReason::kRequestCancelled}));
    return true;
  }

  void EndFlow(int64_t, absl::AnyInvocable<void() &&> idle) override { std::move(idle)(); }

  SchedulerStats stats() const override {
    absl::MutexLock lock(&mu_);
    return {.queued_tasks = static_cast<int64_t>(tasks_.size()), .cancelled = cancelled_};
  }

  void BeginDrain() override {
    absl::MutexLock lock(&mu_);
    refusal_ = MakeError(absl::StatusCode::kUnavailable, "draining",
                         {.reason = ErrorReason::kServerDraining});
  }

  void Drain(absl::Time) override {
    while (std::unique_ptr<Task> task = Take(0)) {
      Finish(std::move(task), MakeError(absl::StatusCode::kUnavailable, "draining",
                                        {.reason = ErrorReason::kServerDraining}));
    }
  }

  void RefuseWith(absl::Status status) {
    absl::MutexLock lock(&mu_);
    refusal_ = std::move(status);
  }

  // While true, Submit does not return for tasks of more than 500,000 bytes.
  void HoldLargeSubmits(bool hold) {
    absl::MutexLock lock(&mu_);
    holds_large_ = hold;
  }
  void AwaitHeldSubmit() {
    const auto held = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return held_submits_ > 0; };
    absl::MutexLock lock(&mu_, absl::Condition(&held));
  }

  // Waits for a task and takes it.
  std::unique_ptr<Task> AwaitTask() {
    const auto arrived = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !tasks_.empty(); };
    absl::MutexLock lock(&mu_, absl::Condition(&arrived));
    return TakeLocked(0);
  }

  void AwaitTaskCount(size_t count) {
    const auto arrived = [this, count]()
                             ABSL_SHARED_LOCKS_REQUIRED(mu_) { return tasks_.size() == count; };
    absl::MutexLock lock(&mu_, absl::Condition(&arrived));
  }

  void AwaitCancelled(int64_t count) {
    const auto reached = [this, count]()
                             ABSL_SHARED_LOCKS_REQUIRED(mu_) { return cancelled_ >= count; };
    absl::MutexLock lock(&mu_, absl::Condition(&reached));
  }

  static void Finish(std::unique_ptr<Task> task, absl::Status status) {
    task->work.status = std::move(status);
    auto done = std::move(task->done);
    std::move(done)(std::move(task));
  }

  // Ok, with outputs of the right size whose bytes are all 7.
  static void FinishOk(std::unique_ptr<Task> task) {
    for (const Step& step : task->work.steps) {
      StepResult& result = task->work.results.emplace_back();
      result.negative_rows = 1;
      ForEachOutput(step, [&](OutputName name, const OutputRef& output) {
        if (output.placement != OutputRef::Placement::kInline) return;
        const OutputShape shape = ShapeOf(step, name);
        result.outputs.push_back({name, shape.dtype, shape.rows, shape.columns,
                                  std::string(static_cast<size_t>(shape.bytes()), '\7')});
      });
    }
    Finish(std::move(task), absl::OkStatus());
  }

 private:
  std::unique_ptr<Task> Take(TaskId id) {
    absl::MutexLock lock(&mu_);
    return TakeLocked(id);
  }

  // 0: the oldest.
  std::unique_ptr<Task> TakeLocked(TaskId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto found = id == 0 ? tasks_.begin() : tasks_.find(id);
    if (found == tasks_.end()) return nullptr;
    std::unique_ptr<Task> task = std::move(found->second);
    tasks_.erase(found);
    return task;
  }

  mutable absl::Mutex mu_;
  std::map<TaskId, std::unique_ptr<Task>> tasks_ ABSL_GUARDED_BY(mu_);
  TaskId last_id_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t cancelled_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status refusal_ ABSL_GUARDED_BY(mu_);
  bool holds_large_ ABSL_GUARDED_BY(mu_) = false;
  int held_submits_ ABSL_GUARDED_BY(mu_) = 0;
};

// Describes a device and plans; executes nothing.
class DescribedBackend final : public Backend {
 public:
  DescribedBackend() {
    info_.device.kind = "cpu";
    info_.device.name = "test processor";
    info_.device.multiprocessors = 2;
    info_.choice_reason = "asked for";
  }

  const BackendInfo& info() const override { return info_; }
  BackendStats stats() const override { return {.launches = 5, .faults = 2}; }
  void Launch(std::unique_ptr<WorkBatch> batch, Done done) override {
    std::move(done)(std::move(batch));
  }
  // Counts, and returns once nobody holds it.
  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateBuffer(int64_t) override {
    absl::MutexLock lock(&mu_);
    ++allocations_;
    const auto released = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !holds_allocations_; };
    mu_.Await(absl::Condition(&released));
    return absl::UnimplementedError("not in this fake");
  }
  absl::Status CopyToDevice(std::byte*, const std::byte*, int64_t) override {
    return absl::UnimplementedError("not in this fake");
  }
  absl::Status CopyToHost(std::byte*, const std::byte*, int64_t) override {
    return absl::UnimplementedError("not in this fake");
  }
  absl::Status HostPlan(const PlanParams& params, const int32_t*, int32_t rows,
                        std::byte* plan) const override {
    PlanHeader header{.rows = rows,
                      .columns = params.columns,
                      .k = params.k,
                      .effective_threshold = params.static_threshold,
                      .pooled_row_count = 1,
                      .pool_width = 2,
                      .negative_rows = 1};
    std::memcpy(plan, &header, sizeof(header));
    const int32_t pooled = 1;
    std::memcpy(plan + sizeof(header) + int64_t{4} * rows, &pooled, sizeof(pooled));
    return absl::OkStatus();
  }
  absl::StatusOr<int32_t> ProbeOccupancy(int32_t cluster_size, int32_t) override {
    if (cluster_size > 8) {
      return MakeError(absl::StatusCode::kFailedPrecondition, "no cluster fits",
                       {.reason = ErrorReason::kNoClusterFits});
    }
    return 16;
  }
  absl::Status Healthy() override { return absl::OkStatus(); }
  void Drain() override {}

  void HoldAllocations(bool hold) {
    absl::MutexLock lock(&mu_);
    holds_allocations_ = hold;
  }
  void AwaitAllocations(int count) {
    const auto reached = [this, count]()
                             ABSL_SHARED_LOCKS_REQUIRED(mu_) { return allocations_ >= count; };
    absl::MutexLock lock(&mu_, absl::Condition(&reached));
  }
  int allocations() const {
    absl::MutexLock lock(&mu_);
    return allocations_;
  }

 private:
  BackendInfo info_;
  mutable absl::Mutex mu_;
  bool holds_allocations_ ABSL_GUARDED_BY(mu_) = false;
  int allocations_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace winnow::server

#endif  // WINNOW_TESTS_SERVER_RPC_FAKE_SERVICES_H_
