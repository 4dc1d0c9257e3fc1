#include "tests/testing/fake_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/backend/work_shape.h"

namespace winnow::server {
namespace {

void WriteRowNumbers(std::byte* data, int64_t row_stride, const OutputShape& shape,
                     int64_t first_row) {
  for (int64_t row = 0; row < shape.rows; ++row) {
    for (int64_t column = 0; column < shape.columns; ++column) {
      const auto number = static_cast<int32_t>(first_row + row);
      std::memcpy(data + (row * row_stride + column) * 4, &number, 4);
    }
  }
}

void Execute(WorkItem& item, const absl::Status& status) {
  item.status = status;
  if (!status.ok()) return;
  item.results.resize(item.steps.size());
  for (size_t i = 0; i < item.steps.size(); ++i) {
    item.results[i].negative_rows = 1;
    ForEachOutput(item.steps[i], [&](OutputName name, OutputRef& output) {
      const OutputShape shape = ShapeOf(item.steps[i], name);
      if (shape.dtype != DType::kInt32) return;
      if (output.placement == OutputRef::Placement::kHost) {
        WriteRowNumbers(output.data, RowStride(output, shape), shape, item.first_row);
      } else if (output.placement == OutputRef::Placement::kInline) {
        OutputTensor tensor{
            .name = name, .dtype = shape.dtype, .rows = shape.rows, .columns = shape.columns};
        tensor.data.resize(shape.bytes());
        WriteRowNumbers(reinterpret_cast<std::byte*>(tensor.data.data()), shape.columns, shape,
                        item.first_row);
        item.results[i].outputs.push_back(std::move(tensor));
      }
    });
  }
}

absl::Status NotHere() { return absl::UnimplementedError("a fake backend has no memory"); }

}  // namespace

FakeBackend::FakeBackend(int32_t launch_slots, uint32_t automatic_seed)
    : automatic_seed_(automatic_seed) {
  info_.launch_slots = launch_slots;
  info_.device.kind = "fake";
  info_.device.host_memory = true;
  thread_ = std::thread([this] { Run(); });
}

FakeBackend::~FakeBackend() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

void FakeBackend::Launch(std::unique_ptr<WorkBatch> batch, Done done) {
  LaunchRecord record{.high_priority = batch->high_priority, .gives_way = batch->gives_way};
  for (const WorkItem* item : batch->items) {
    record.items.push_back(item);
    record.kept_alive.push_back(item->keep_alive.get());
    record.first_rows.push_back(item->first_row);
    record.rows.push_back(item->steps.empty() ? 0 : RowsOf(item->steps[0]));
  }
  absl::MutexLock lock(&mu_);
  launches_.push_back(std::move(record));
  (automatic() ? completing_ : in_flight_).push_back({std::move(batch), std::move(done), {}});
  // A launch whose callback is running has given its slot back.
  most_in_flight_ =
      std::max(most_in_flight_, static_cast<int32_t>(in_flight_.size() + completing_.size()));
}

void FakeBackend::CompleteOldest(const absl::Status& status) {
  absl::MutexLock lock(&mu_);
  const auto launched = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !in_flight_.empty(); };
  mu_.Await(absl::Condition(&launched));
  const int64_t goal = completed_ + static_cast<int64_t>(completing_.size()) + calling_back_ + 1;
  InFlight oldest = std::move(in_flight_.front());
  in_flight_.pop_front();
  oldest.status = status;
  completing_.push_back(std::move(oldest));
  const auto done = [this, goal]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return completed_ >= goal; };
  mu_.Await(absl::Condition(&done));
}

void FakeBackend::Run() {
  std::minstd_rand random(automatic_seed_);
  absl::MutexLock lock(&mu_);
  while (true) {
    const auto wanted = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return stopping_ || !completing_.empty();
    };
    mu_.Await(absl::Condition(&wanted));
    if (completing_.empty()) return;
    const size_t index = automatic() ? random() % completing_.size() : 0;
    InFlight next = std::move(completing_[index]);
    completing_.erase(completing_.begin() + static_cast<std::ptrdiff_t>(index));
    ++calling_back_;
    mu_.Unlock();
    for (WorkItem* item : next.batch->items) Execute(*item, next.status);
    std::move(next.done)(std::move(next.batch));
    next.done = nullptr;
    mu_.Lock();
    --calling_back_;
    ++completed_;
  }
}

std::vector<FakeBackend::LaunchRecord> FakeBackend::launches() const {
  absl::MutexLock lock(&mu_);
  return launches_;
}

int64_t FakeBackend::in_flight() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int64_t>(in_flight_.size() + completing_.size());
}

int32_t FakeBackend::most_in_flight() const {
  absl::MutexLock lock(&mu_);
  return most_in_flight_;
}

void FakeBackend::AwaitLaunches(int64_t count) const {
  const auto reached = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return static_cast<int64_t>(launches_.size()) >= count;
  };
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(&reached));
}

void FakeBackend::Drain() {
  const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return in_flight_.empty() && completing_.empty() && calling_back_ == 0;
  };
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(&idle));
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> FakeBackend::AllocateBuffer(int64_t) {
  return NotHere();
}
absl::Status FakeBackend::CopyToDevice(std::byte*, const std::byte*, int64_t) { return NotHere(); }
absl::Status FakeBackend::CopyToHost(std::byte*, const std::byte*, int64_t) { return NotHere(); }
absl::Status FakeBackend::HostPlan(const PlanParams&, const int32_t*, int32_t, std::byte*) const {
  return NotHere();
}
absl::StatusOr<int32_t> FakeBackend::ProbeOccupancy(int32_t, int32_t) { return NotHere(); }

}  // namespace winnow::server
