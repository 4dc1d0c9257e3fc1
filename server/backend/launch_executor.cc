#include "server/backend/launch_executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/backend/step_segments.h"
#include "server/base/checked_math.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/operations.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::server {
namespace {

std::chrono::steady_clock::time_point SteadyNow() { return std::chrono::steady_clock::now(); }

int64_t LaunchRows(const WorkItem& item) {
  int64_t rows = 0;
  for (const Step& step : item.steps) rows = std::max(rows, RowsOf(step));
  return rows;
}

std::string StepPrefix(const WorkItem& item, size_t step) {
  return item.steps.size() == 1 ? "" : absl::StrCat("steps[", step, "].");
}

// What the device plans for a selection; nullopt for other operations.
std::optional<PlanParams> PlanParamsOf(const Step& step) {
  const auto columns = [](const TensorRef& scores) {
    return static_cast<int32_t>(std::max<int64_t>(scores.columns, 1));
  };
  if (const auto* top_k = std::get_if<TopKStep>(&step)) {
    return PlanParams{
        .dtype = top_k->params.dtype,
        .k = top_k->params.k,
        .columns = columns(top_k->scores),
        .static_threshold = top_k->has_static_threshold ? top_k->static_threshold : -1};
  }
  if (const auto* publish = std::get_if<PublishStep>(&step)) {
    return PlanParams{.dtype = publish->params.dtype,
                      .k = publish->params.k,
                      .columns = columns(publish->scores)};
  }
  return std::nullopt;
}

}  // namespace

LaunchExecutor::LaunchExecutor(Device* device, MemoryPool* staging, MemoryPool* pinned)
    : device_(device), staging_(staging), pinned_(pinned) {}

absl::StatusOr<std::unique_ptr<LaunchExecutor>> LaunchExecutor::Create(Device* device,
                                                                       MemoryPool* staging,
                                                                       MemoryPool* pinned) {
  auto executor = std::unique_ptr<LaunchExecutor>(new LaunchExecutor(device, staging, pinned));
  WINNOW_ASSIGN_OR_RETURN(executor->normal_stream_, device->CreateStream(StreamPriority::kNormal));
  WINNOW_ASSIGN_OR_RETURN(executor->high_stream_, device->CreateStream(StreamPriority::kHigh));
  WINNOW_ASSIGN_OR_RETURN(executor->started_, device->CreateEvent());
  WINNOW_ASSIGN_OR_RETURN(executor->finished_, device->CreateEvent());
  WINNOW_RETURN_IF_ERROR(executor->OpenDoneWord());
  return executor;
}

absl::Status LaunchExecutor::OpenDoneWord() {
  MemorySharing* const words = device_->memory_sharing();
  if (pinned_ == nullptr || words == nullptr) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(done_memory_, pinned_->Allocate(kPoolAlignment));
  std::memset(done_memory_->data(), 0, sizeof(uint32_t));
  const bool set = words->SetWord(*high_stream_, done_memory_->data(), 0).ok();
  // Without words the events tell.
  if (high_stream_->Synchronize().ok() && set) done_word_ = done_memory_->data();
  return absl::OkStatus();
}

void LaunchExecutor::Open(WorkBatch& batch) {
  counts_ = {};
  stream_ = batch.high_priority ? high_stream_.get() : normal_stream_.get();
}

LaunchCounts LaunchExecutor::Close(const WorkBatch& batch) {
  int64_t rows = 0;
  for (const WorkItem* item : batch.items) rows += LaunchRows(*item);
  for (WorkItem* item : batch.items) {
    item->timing.batch_items = static_cast<int32_t>(batch.items.size());
    item->timing.batch_rows = rows;
  }
  counts_.items = static_cast<int64_t>(batch.items.size());
  counts_.rows = rows;
  return counts_;
}

LaunchCounts LaunchExecutor::Execute(WorkBatch& batch) {
  Open(batch);
  if (!batch.items.empty()) ExecuteItems(batch.items);
  return Close(batch);
}

bool LaunchExecutor::MayBegin(const WorkBatch& batch) const {
  return pinned_ != nullptr && !batch.items.empty() &&
         batch.items.size() <= static_cast<size_t>(kMaxSegments) &&
         batch.items.front()->ordering.wait_word == nullptr;
}

bool LaunchExecutor::Fits(const StagedLaunch& launch) const {
  return launch.total_bytes() <= staging_->capacity_bytes() &&
         (pinned_ == nullptr || launch.mirrored_bytes() <= pinned_->capacity_bytes());
}

bool LaunchExecutor::Begin(WorkBatch& batch) {
  // Copying so much on the caller's thread takes less than waking another one.
  constexpr int64_t kMostMirrored = 128 << 10;
  Open(batch);
  begun_ = &batch;
  if (!MayBegin(batch)) return false;
  begun_launch_.emplace(batch.items, /*host_memory=*/false);
  const bool quick = Fits(*begun_launch_) && begun_launch_->mirrored_bytes() <= kMostMirrored;
  begun_run_ = {};
  if (quick) begun_status_ = StartLaunch(*begun_launch_, begun_run_, Memory::kOnlyIfFree);
  if (quick && begun_run_.host_memory != nullptr) return begun_status_.ok();
  // Too large, or no memory free: nothing was enqueued.
  begun_launch_.reset();
  begun_run_ = {};
  return false;
}

bool LaunchExecutor::WordIsSet() const {
  const std::atomic_ref<uint32_t> word(*reinterpret_cast<uint32_t*>(done_word_));
  return word.load(std::memory_order_acquire) == launches_begun_;
}

bool LaunchExecutor::DriverSaysDone() {
  // Recorded behind all that the launch enqueued, it tells the same as one from then.
  const bool record = begun_run_.by_word && !std::exchange(begun_run_.asked, true);
  if (record && !finished_->Record(*stream_).ok()) return true;
  const absl::StatusOr<bool> done = finished_->Done();
  return !done.ok() || *done;
}

bool LaunchExecutor::Done(Look look) {
  bool done = done_word_ != nullptr && WordIsSet();
  if (!done && (done_word_ == nullptr || look == Look::kAsk)) done = DriverSaysDone();
  if (done) begun_run_.seen_done = SteadyNow();
  return done;
}

LaunchCounts LaunchExecutor::Finish() {
  WorkBatch& batch = *begun_;
  begun_ = nullptr;
  if (!begun_launch_.has_value()) return Execute(batch);
  if (begun_status_.ok()) begun_status_ = EndLaunch(*begun_launch_, begun_run_);
  Settle(*begun_launch_, begun_run_, begun_status_);
  begun_launch_.reset();
  begun_run_ = {};
  return Close(batch);
}

void LaunchExecutor::ExecuteHalves(Items items) {
  const size_t half = items.size() / 2;
  ExecuteItems(items.first(half));
  ExecuteItems(items.subspan(half));
}

void LaunchExecutor::ExecuteItems(Items items) {
  if (items.size() > static_cast<size_t>(kMaxSegments)) return ExecuteHalves(items);
  StagedLaunch launch(items, pinned_ == nullptr);
  if (!Fits(launch) && items.size() > 1) return ExecuteHalves(items);
  Run run;
  absl::Status status = StartLaunch(launch, run, Memory::kAwait);
  if (status.ok()) status = EndLaunch(launch, run);
  Settle(launch, run, status);
}

void LaunchExecutor::Settle(StagedLaunch& launch, Run& run, const absl::Status& status) {
  if (status.ok()) return FinishItems(launch, run);
  const Items items = launch.items();
  // Work that was enqueued before the failure still uses the launch's memory.
  const bool waited = run.waits;
  if (waited) EndWait(items.front()->ordering, run).IgnoreError();
  stream_->Synchronize().IgnoreError();
  run = {};
  // One item must not fail for another: what is wrong may be wrong with one of them alone, and
  // workspace that is too large for all may do for half.
  // A word that was set to end a wait says nothing about the data any more: no second try.
  const bool may_be_one_of_them =
      !waited && (absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) ||
                  absl::IsFailedPrecondition(status));
  if (items.size() > 1 && may_be_one_of_them) return ExecuteHalves(items);
  for (WorkItem* item : items) {
    item->status = status;
    item->results.clear();
  }
}

absl::Status LaunchExecutor::BindMemory(StagedLaunch& launch, Run& run, Memory memory) {
  // The workspace depends on the segments, and they hold addresses: any that are not null will do.
  launch.Bind(staging_->base(), pinned_ == nullptr ? staging_->base() : pinned_->base());
  const size_t steps = launch.items().front()->steps.size();
  for (size_t step = 0; step < steps; ++step) {
    run.workspace_bytes = std::max(run.workspace_bytes, WorkspaceBytes(*device_, launch, step));
  }
  const int64_t bytes =
      SaturatingAdd(AlignUp(launch.total_bytes(), kPoolAlignment), run.workspace_bytes);
  const auto take = [memory](MemoryPool& pool, int64_t wanted) {
    return memory == Memory::kAwait ? pool.AwaitAllocate(wanted) : pool.Allocate(wanted);
  };
  WINNOW_ASSIGN_OR_RETURN(run.device_memory, take(*staging_, bytes));
  std::byte* host = run.device_memory->data();
  if (pinned_ != nullptr) {
    // Always second, so that two launches never wait for each other's memory.
    WINNOW_ASSIGN_OR_RETURN(run.host_memory, take(*pinned_, launch.mirrored_bytes()));
    host = run.host_memory->data();
  }
  run.mapped = MayMap(launch);
  launch.Bind(run.device_memory->data(), host, run.mapped);
  return absl::OkStatus();
}

// Two copies of a few bytes take longer than the kernel of a decode step. A device that shares
// memory reads and writes pinned memory over the bus; what is read there is read by many blocks,
// and therefore small.
bool LaunchExecutor::MayMap(const StagedLaunch& launch) const {
  constexpr int64_t kMostUpload = 16 << 10;
  constexpr int64_t kMostMirrored = 32 << 10;
  return pinned_ != nullptr && device_->memory_sharing() != nullptr && launch.clearings().empty() &&
         launch.upload_bytes() <= kMostUpload && launch.mirrored_bytes() <= kMostMirrored;
}

absl::Status LaunchExecutor::StartLaunch(StagedLaunch& launch, Run& run, Memory memory) {
  WINNOW_RETURN_IF_ERROR(BindMemory(launch, run, memory));
  launch.CopyIn();
  WINNOW_RETURN_IF_ERROR(Enqueue(launch, run));
  run.enqueued = SteadyNow();
  run.launch_time = absl::FromChrono(run.enqueued - run.begun);
  return absl::OkStatus();
}

absl::Status LaunchExecutor::EndLaunch(StagedLaunch& launch, Run& run) {
  if (run.waits) {
    WINNOW_RETURN_IF_ERROR(AwaitStart(launch.items(), run));
  }
  WINNOW_RETURN_IF_ERROR(run.by_word ? AwaitEndByWord(run) : AwaitEndByEvents(run));
  launch.CopyOut();
  return absl::OkStatus();
}

absl::Status LaunchExecutor::AwaitEndByEvents(Run& run) {
  WINNOW_RETURN_IF_ERROR(finished_->Wait());
  WINNOW_ASSIGN_OR_RETURN(const double micros, finished_->MicrosSince(*started_));
  run.device_time = absl::Nanoseconds(std::llround(micros * 1000));
  // A device that works on host memory has done its work while it was "enqueued".
  if (pinned_ == nullptr) run.launch_time -= std::min(run.launch_time, run.device_time);
  return absl::OkStatus();
}

absl::Status LaunchExecutor::AwaitEndByWord(Run& run) {
  // Not set when the device is lost: then waiting says so.
  if (!WordIsSet()) WINNOW_RETURN_IF_ERROR(stream_->Synchronize());
  run.device_time = absl::FromChrono(run.seen_done - run.enqueued);
  return absl::OkStatus();
}

absl::Status LaunchExecutor::Enqueue(StagedLaunch& launch, Run& run) {
  std::byte* device = run.device_memory->data();
  const bool copies = pinned_ != nullptr && !run.mapped;
  if (copies) {
    WINNOW_RETURN_IF_ERROR(
        device_->Copy(*stream_, device, run.host_memory->data(), launch.upload_and_report_bytes()));
  }
  WINNOW_RETURN_IF_ERROR(EnqueueWait(launch.items(), run));
  // Two events and the question how far they are apart take as long as a decode step. One
  // interactive launch is under way at a time, so that the host's clock tells nearly the same.
  const bool sets_word = begun_ != nullptr && done_word_ != nullptr;
  run.by_word = sets_word && stream_ == high_stream_.get();
  if (!run.by_word) WINNOW_RETURN_IF_ERROR(started_->Record(*stream_));
  for (const StagedLaunch::Compaction& vector : launch.compactions()) {
    WINNOW_RETURN_IF_ERROR(device_->CopyRows(*stream_, launch.OnDevice(vector.to), 4, vector.from,
                                             vector.from_stride_bytes, 4, vector.rows));
  }
  for (const StagedLaunch::Clearing& clearing : launch.clearings()) {
    WINNOW_RETURN_IF_ERROR(
        device_->Fill(*stream_, launch.OnDevice(clearing.place), 0, clearing.bytes));
  }
  WINNOW_RETURN_IF_ERROR(EnqueueSteps(launch, run));
  for (const StagedLaunch::Scattering& vector : launch.scatterings()) {
    WINNOW_RETURN_IF_ERROR(device_->CopyRows(*stream_, vector.to, vector.to_stride_bytes,
                                             launch.OnDevice(vector.from), vector.entry_bytes,
                                             vector.entry_bytes, vector.rows));
  }
  WINNOW_RETURN_IF_ERROR(EnqueueSets(launch.items()));
  if (copies) {
    WINNOW_RETURN_IF_ERROR(device_->Copy(*stream_, run.host_memory->data() + launch.reports_at(),
                                         device + launch.reports_at(),
                                         launch.report_and_download_bytes()));
  }
  if (!run.by_word) WINNOW_RETURN_IF_ERROR(finished_->Record(*stream_));
  if (!sets_word) return absl::OkStatus();
  return device_->memory_sharing()->SetWord(*stream_, done_word_, ++launches_begun_);
}

absl::Status LaunchExecutor::EnqueueSteps(const StagedLaunch& launch, Run& run) {
  const absl::Span<std::byte> workspace(
      run.device_memory->data() + AlignUp(launch.total_bytes(), kPoolAlignment),
      static_cast<size_t>(run.workspace_bytes));
  const WorkItem& first = *launch.items().front();
  for (size_t step = 0; step < first.steps.size(); ++step) {
    for (size_t item = 0; item < launch.items().size(); ++item) {
      const StepPlaces& places = launch.PlacesOf(item, step);
      if (!places.plan_header.present()) continue;
      WINNOW_RETURN_IF_ERROR(device_->Copy(*stream_, launch.OnDevice(places.plan_header),
                                           launch.OnDevice(places.plan), sizeof(PlanHeader)));
    }
    const absl::Status status = EnqueueStep(*device_, *stream_, launch, step, workspace);
    if (!status.ok()) return WithFieldPrefix(StepPrefix(first, step), status);
  }
  ++counts_.launches;
  return absl::OkStatus();
}

void LaunchExecutor::FinishItems(const StagedLaunch& launch, const Run& run) {
  counts_.device_busy += run.device_time;
  for (size_t i = 0; i < launch.items().size(); ++i) {
    WorkItem& item = *launch.items()[i];
    item.status = absl::OkStatus();
    item.timing.launch = run.launch_time;
    item.timing.device = run.device_time;
    for (size_t step = 0; step < item.steps.size() && item.status.ok(); ++step) {
      if (!launch.PlacesOf(i, step).runs) continue;
      const SegmentReport& report = launch.ReportOf(i, step);
      item.results[step].negative_rows = report.negative_rows;
      FaultRecord fault = report.fault;
      fault.row += static_cast<int32_t>(item.first_row);
      const absl::Status status = StatusFromFault(fault);
      if (!status.ok()) item.status = WithFieldPrefix(StepPrefix(item, step), status);
    }
    if (item.status.ok()) {
      CountRoutes(launch, i);
    } else {
      ++counts_.faults;
      item.results.clear();
    }
  }
}

void LaunchExecutor::CountRoutes(const StagedLaunch& launch, size_t item_index) {
  WorkItem& item = *launch.items()[item_index];
  for (size_t step = 0; step < item.steps.size(); ++step) {
    const StepPlaces& places = launch.PlacesOf(item_index, step);
    const std::optional<PlanParams> params = PlanParamsOf(item.steps[step]);
    if (!params.has_value() || !places.runs) continue;
    PlanHeader header;
    if (places.plan_header.present()) {
      std::memcpy(&header, launch.OnHost(places.plan_header), sizeof(header));
    } else if (!PlanOnHost(*params, RowsOf(item.steps[step]), launch.OnHost(places.lengths),
                           header)) {
      continue;
    }
    for (int32_t route = 0; route < kRouteCount; ++route) {
      item.results[step].route_rows[route] = header.route_rows[route];
      counts_.route_rows[route] += header.route_rows[route];
    }
  }
}

bool LaunchExecutor::PlanOnHost(const PlanParams& params, int64_t rows, const std::byte* lengths,
                                PlanHeader& header) {
  if (lengths == nullptr) return false;
  const auto bytes = static_cast<size_t>(PlanBytes(static_cast<int32_t>(rows)));
  if (plan_scratch_.size() < bytes) plan_scratch_.resize(bytes);
  const absl::Status status = device_->HostPlan(params, reinterpret_cast<const int32_t*>(lengths),
                                                static_cast<int32_t>(rows), plan_scratch_.data());
  if (status.ok()) std::memcpy(&header, plan_scratch_.data(), sizeof(header));
  return status.ok();
}

}  // namespace winnow::server
