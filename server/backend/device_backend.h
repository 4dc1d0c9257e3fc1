// The backend over winnow::Device. On a device that works in host memory, whose calls do their work
// before they return, each launch slot is a thread that runs a batch and calls back. On a GPU the
// thread that calls Launch enqueues, and one completion thread watches the launches and calls back;
// the slots' threads take what may have to wait, and the callbacks of many requests.

#ifndef WINNOW_SERVER_BACKEND_DEVICE_BACKEND_H_
#define WINNOW_SERVER_BACKEND_DEVICE_BACKEND_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/backend/backend.h"
#include "server/backend/completion_thread.h"
#include "server/backend/launch_executor.h"
#include "server/backend/memory_pool.h"

namespace winnow::server {

struct DeviceBackendOptions {
  std::string choice_reason;
  int32_t launch_slots = 4;
  int64_t buffer_pool_bytes = int64_t{1} << 30;
  int64_t staging_pool_bytes = int64_t{256} << 20;
};

class DeviceBackend final : public Backend {
 public:
  // Allocates both pools. InvalidArgument for options out of range, ResourceExhausted when the
  // device has not got the memory.
  static absl::StatusOr<std::unique_ptr<Backend>> Create(std::unique_ptr<Device> device,
                                                         const DeviceBackendOptions& options);
  // Finishes what was launched.
  ~DeviceBackend() override;

  const BackendInfo& info() const override { return info_; }
  BackendStats stats() const override;
  void Launch(std::unique_ptr<WorkBatch> batch, Done done) override;
  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateBuffer(int64_t bytes) override;
  absl::Status CopyToDevice(std::byte* device, const std::byte* host, int64_t bytes) override;
  absl::Status CopyToHost(std::byte* host, const std::byte* device, int64_t bytes) override;
  absl::Status HostPlan(const PlanParams& params, const int32_t* lengths, int32_t rows,
                        std::byte* plan) const override;
  absl::StatusOr<int32_t> ProbeOccupancy(int32_t cluster_size, int32_t blocks_per_sm) override;
  MemorySharing* memory_sharing() override { return device_->memory_sharing(); }
  absl::Status Healthy() override { return device_->Healthy(); }
  void Drain() override;

 private:
  struct Launched {
    std::unique_ptr<WorkBatch> batch;
    Done done;
    LaunchExecutor* begun = nullptr;  // the executor that has begun it, if one has
  };

  explicit DeviceBackend(std::unique_ptr<Device> device);
  absl::Status Open(const DeviceBackendOptions& options);
  absl::Status OpenBulkSlot();
  absl::Status OpenCompletion();
  LaunchExecutor* TakeIdleExecutor() ABSL_LOCKS_EXCLUDED(mu_);
  // Enqueues on this thread.
  void BeginLaunch(LaunchExecutor& executor, Launched launched) ABSL_LOCKS_EXCLUDED(mu_);
  // On the completion thread.
  void OnEnded(BegunLaunch ended) ABSL_LOCKS_EXCLUDED(mu_);
  // `waiting` is guarded by mu_.
  void RunSlot(LaunchExecutor& executor, std::deque<Launched>& waiting, absl::CondVar& launched);
  // Executes, or finishes what was begun, and calls back, without the lock.
  void Run(LaunchExecutor& executor, Launched launched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Count(const LaunchCounts& counts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CopyNow(void* to, const void* from, int64_t bytes);

  BackendInfo info_;
  // Destroyed last: everything below is the device's.
  const std::unique_ptr<Device> device_;
  std::unique_ptr<MemoryPool> buffers_, staging_, pinned_;

  absl::Mutex copy_mu_;  // the copy stream is used by one thread at a time
  std::unique_ptr<Stream> copy_stream_ ABSL_GUARDED_BY(copy_mu_);

  mutable absl::Mutex mu_;
  std::deque<Launched> waiting_ ABSL_GUARDED_BY(mu_);
  // Of the bulk slot: one at most, the others go to the slots that take any.
  std::deque<Launched> bulk_waiting_ ABSL_GUARDED_BY(mu_);
  bool bulk_slot_taken_ ABSL_GUARDED_BY(mu_) = false;
  int64_t in_flight_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  BackendStats stats_ ABSL_GUARDED_BY(mu_);
  absl::CondVar launched_, bulk_launched_, idle_;
  std::unique_ptr<LaunchExecutor> inline_executor_;  // of the batch that is alone in flight
  std::vector<std::unique_ptr<LaunchExecutor>> executors_;
  // Of a device that works in host memory, for bulk work; else null. Beside the launch slots, which
  // bound what is in flight.
  std::unique_ptr<LaunchExecutor> bulk_executor_;
  // Of a device with memory of its own, for launches that the caller's thread enqueues.
  std::vector<std::unique_ptr<LaunchExecutor>> begin_executors_;
  std::vector<LaunchExecutor*> idle_executors_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<CompletionThread> completion_;
  std::vector<std::thread> slots_;
};

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_DEVICE_BACKEND_H_
