#include "server/backend/device_backend.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/backend/work_key.h"
#include "server/base/checked_math.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/status_macros.h"
#include "winnow/kernels/time_slice.h"

namespace winnow::server {
namespace {

constexpr int32_t kMaxLaunchSlots = 64;
constexpr int64_t kMinPoolBytes = int64_t{1} << 20;

absl::Status CheckOption(absl::string_view field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return InvalidField(ErrorReason::kValueOutOfRange, field, value, absl::StrCat(low, " to ", high));
}

// Whether the work takes about as long as waking a thread would: tens of microseconds.
bool IsSmall(const WorkBatch& batch) {
  constexpr int64_t kMaxRows = 4;
  constexpr int64_t kMaxInputBytes = 64 << 10;
  WorkCost total;
  for (const WorkItem* item : batch.items) {
    const WorkCost cost = CostOf(*item);
    total.rows = SaturatingAdd(total.rows, cost.rows);
    total.input_bytes = SaturatingAdd(total.input_bytes, cost.input_bytes);
  }
  return total.rows <= kMaxRows && total.input_bytes <= kMaxInputBytes;
}

}  // namespace

DeviceBackend::DeviceBackend(std::unique_ptr<Device> device) : device_(std::move(device)) {}

absl::StatusOr<std::unique_ptr<Backend>> DeviceBackend::Create(
    std::unique_ptr<Device> device, const DeviceBackendOptions& options) {
  auto backend = std::unique_ptr<DeviceBackend>(new DeviceBackend(std::move(device)));
  WINNOW_RETURN_IF_ERROR(backend->Open(options));
  return backend;
}

absl::Status DeviceBackend::Open(const DeviceBackendOptions& options) {
  constexpr int64_t kMaxPoolBytes = int64_t{1} << 50;
  WINNOW_RETURN_IF_ERROR(CheckOption("launch_slots", options.launch_slots, 1, kMaxLaunchSlots));
  WINNOW_RETURN_IF_ERROR(
      CheckOption("buffer_pool_bytes", options.buffer_pool_bytes, kMinPoolBytes, kMaxPoolBytes));
  WINNOW_RETURN_IF_ERROR(
      CheckOption("staging_pool_bytes", options.staging_pool_bytes, kMinPoolBytes, kMaxPoolBytes));
  info_.device = device_->info();
  info_.choice_reason = options.choice_reason;
  info_.launch_slots = options.launch_slots;
  info_.buffer_pool_bytes = options.buffer_pool_bytes;
  info_.staging_pool_bytes = options.staging_pool_bytes;
  WINNOW_ASSIGN_OR_RETURN(buffers_, MemoryPool::Create(*device_, MemoryKind::kDevice,
                                                       options.buffer_pool_bytes, "buffer"));
  WINNOW_ASSIGN_OR_RETURN(staging_, MemoryPool::Create(*device_, MemoryKind::kDevice,
                                                       options.staging_pool_bytes, "staging"));
  if (!info_.device.host_memory) {
    WINNOW_ASSIGN_OR_RETURN(
        pinned_, MemoryPool::Create(*device_, MemoryKind::kPinnedHost, options.staging_pool_bytes,
                                    "pinned staging"));
  }
  {
    absl::MutexLock lock(&copy_mu_);
    WINNOW_ASSIGN_OR_RETURN(copy_stream_, device_->CreateStream(StreamPriority::kNormal));
  }
  WINNOW_ASSIGN_OR_RETURN(inline_executor_,
                          LaunchExecutor::Create(device_.get(), staging_.get(), pinned_.get()));
  for (int32_t slot = 0; slot < options.launch_slots; ++slot) {
    WINNOW_ASSIGN_OR_RETURN(auto executor,
                            LaunchExecutor::Create(device_.get(), staging_.get(), pinned_.get()));
    executors_.push_back(std::move(executor));
  }
  for (const auto& executor : executors_) {
    slots_.emplace_back([this, &executor = *executor] { RunSlot(executor, waiting_, launched_); });
  }
  WINNOW_RETURN_IF_ERROR(OpenCompletion());
  return OpenBulkSlot();
}

// Bulk work on a thread of its own, so that all others go before it when they wake. Where another
// device computes there is nothing to gain.
absl::Status DeviceBackend::OpenBulkSlot() {
  if (!info_.device.host_memory) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(bulk_executor_,
                          LaunchExecutor::Create(device_.get(), staging_.get(), pinned_.get()));
  slots_.emplace_back([this] {
    AskForLongTimeSlices();
    RunSlot(*bulk_executor_, bulk_waiting_, bulk_launched_);
  });
  return absl::OkStatus();
}

// Where the device works while this process waits, a thread for each launch would be woken twice:
// to enqueue and when the device is done. Neither is needed.
absl::Status DeviceBackend::OpenCompletion() {
  if (info_.device.host_memory) return absl::OkStatus();
  for (int32_t slot = 0; slot < info_.launch_slots; ++slot) {
    WINNOW_ASSIGN_OR_RETURN(auto executor,
                            LaunchExecutor::Create(device_.get(), staging_.get(), pinned_.get()));
    begin_executors_.push_back(std::move(executor));
    absl::MutexLock lock(&mu_);
    idle_executors_.push_back(begin_executors_.back().get());
  }
  completion_ =
      std::make_unique<CompletionThread>([this](BegunLaunch ended) { OnEnded(std::move(ended)); });
  return absl::OkStatus();
}

DeviceBackend::~DeviceBackend() {
  // Callbacks may launch again, and what the completion thread hands on needs the slots.
  Drain();
  completion_.reset();
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    launched_.SignalAll();
    bulk_launched_.SignalAll();
  }
  for (std::thread& slot : slots_) slot.join();
}

LaunchExecutor* DeviceBackend::TakeIdleExecutor() {
  absl::MutexLock lock(&mu_);
  if (idle_executors_.empty()) return nullptr;
  LaunchExecutor* const executor = idle_executors_.back();
  idle_executors_.pop_back();
  return executor;
}

void DeviceBackend::Launch(std::unique_ptr<WorkBatch> batch, Done done) {
  Launched launched{std::move(batch), std::move(done)};
  LaunchExecutor* const idle = completion_ == nullptr ? nullptr : TakeIdleExecutor();
  if (idle != nullptr) return BeginLaunch(*idle, std::move(launched));
  const bool small =
      launched.batch->may_run_inline && info_.device.host_memory && IsSmall(*launched.batch);
  absl::MutexLock lock(&mu_);
  // Alone in flight, so that the inline executor is free and no memory is waited for.
  if (++in_flight_ == 1 && small) return Run(*inline_executor_, std::move(launched));
  if (bulk_executor_ != nullptr && !launched.batch->high_priority && !bulk_slot_taken_) {
    bulk_slot_taken_ = true;
    bulk_waiting_.push_back(std::move(launched));
    bulk_launched_.Signal();
    return;
  }
  waiting_.push_back(std::move(launched));
  launched_.Signal();
}

void DeviceBackend::BeginLaunch(LaunchExecutor& executor, Launched launched) {
  {
    absl::MutexLock lock(&mu_);
    ++in_flight_;
  }
  completion_->Expect();
  const auto now = std::chrono::steady_clock::now();
  if (executor.Begin(*launched.batch)) {
    return completion_->Add({&executor, std::move(launched.batch), std::move(launched.done), now});
  }
  launched.begun = &executor;
  absl::MutexLock lock(&mu_);
  waiting_.push_back(std::move(launched));
  launched_.Signal();
}

void DeviceBackend::OnEnded(BegunLaunch ended) {
  // More replies than this, of some microseconds each, keep the thread from the ends of other
  // launches for too long.
  constexpr size_t kMostItems = 32;
  const bool few = ended.batch->items.size() <= kMostItems;
  Launched launched{std::move(ended.batch), std::move(ended.done), ended.executor};
  absl::MutexLock lock(&mu_);
  if (few) return Run(*launched.begun, std::move(launched));
  // Before what has still to be done: the device is ahead.
  waiting_.push_front(std::move(launched));
  launched_.Signal();
}

void DeviceBackend::Run(LaunchExecutor& executor, Launched launched) {
  mu_.Unlock();
  LaunchCounts counts;
  {
    const GivingWay giving_way(launched.batch->gives_way && info_.device.host_memory);
    counts = launched.begun != nullptr ? executor.Finish() : executor.Execute(*launched.batch);
  }
  mu_.Lock();
  // Before the callback, so that its stats hold the work that it is told of.
  Count(counts);
  // The callback may launch the next one.
  if (&executor == bulk_executor_.get()) bulk_slot_taken_ = false;
  if (launched.begun != nullptr) idle_executors_.push_back(launched.begun);
  mu_.Unlock();
  std::move(launched.done)(std::move(launched.batch));
  launched.done = nullptr;
  mu_.Lock();
  if (--in_flight_ == 0) idle_.SignalAll();
}

void DeviceBackend::RunSlot(LaunchExecutor& executor, std::deque<Launched>& waiting,
                            absl::CondVar& launched) {
  absl::MutexLock lock(&mu_);
  while (true) {
    while (waiting.empty() && !stopping_) launched.Wait(&mu_);
    if (waiting.empty()) return;
    Launched next = std::move(waiting.front());
    waiting.pop_front();
    Run(next.begun != nullptr ? *next.begun : executor, std::move(next));
  }
}

void DeviceBackend::Count(const LaunchCounts& counts) {
  stats_.launches += counts.launches;
  stats_.items += counts.items;
  stats_.rows += counts.rows;
  stats_.faults += counts.faults;
  stats_.device_busy += counts.device_busy;
  for (int32_t route = 0; route < kRouteCount; ++route) {
    stats_.route_rows[route] += counts.route_rows[route];
  }
}

BackendStats DeviceBackend::stats() const {
  BackendStats stats;
  {
    absl::MutexLock lock(&mu_);
    stats = stats_;
  }
  stats.staging_used_bytes = staging_->used_bytes();
  stats.buffer_used_bytes = buffers_->used_bytes();
  return stats;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> DeviceBackend::AllocateBuffer(int64_t bytes) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<PoolPiece> buffer, buffers_->Allocate(bytes));
  // No client sees what another one left.
  absl::MutexLock lock(&copy_mu_);
  WINNOW_RETURN_IF_ERROR(device_->Fill(*copy_stream_, buffer->data(), 0, bytes));
  WINNOW_RETURN_IF_ERROR(copy_stream_->Synchronize());
  return buffer;
}

absl::Status DeviceBackend::CopyNow(void* to, const void* from, int64_t bytes) {
  absl::MutexLock lock(&copy_mu_);
  WINNOW_RETURN_IF_ERROR(device_->Copy(*copy_stream_, to, from, bytes));
  return copy_stream_->Synchronize();
}

absl::Status DeviceBackend::CopyToDevice(std::byte* device, const std::byte* host, int64_t bytes) {
  return CopyNow(device, host, bytes);
}

absl::Status DeviceBackend::CopyToHost(std::byte* host, const std::byte* device, int64_t bytes) {
  return CopyNow(host, device, bytes);
}

absl::Status DeviceBackend::HostPlan(const PlanParams& params, const int32_t* lengths, int32_t rows,
                                     std::byte* plan) const {
  return device_->HostPlan(params, lengths, rows, plan);
}

absl::StatusOr<int32_t> DeviceBackend::ProbeOccupancy(int32_t cluster_size, int32_t blocks_per_sm) {
  return device_->ProbeOccupancy(cluster_size, blocks_per_sm);
}

void DeviceBackend::Drain() {
  absl::MutexLock lock(&mu_);
  while (in_flight_ > 0) idle_.Wait(&mu_);
}

}  // namespace winnow::server
