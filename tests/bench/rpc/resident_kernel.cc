// The kernel of the decode request by itself, through the kernels library: what a round trip cannot
// be shorter than, and what one launch costs a thread that does nothing else.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/bench/rpc/resident_client.h"
#include "tests/bench/rpc/resident_parts.h"
#include "tests/testing/random.h"
#include "tests/testing/score_generators.h"
#include "winnow/kernels/device.h"

namespace winnow::testing {
namespace {

constexpr int32_t kPageSize = 64;

void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "resident_bench: the kernel alone: %s\n", status.ToString().c_str());
  std::exit(1);
}
template <typename T>
T Require(absl::StatusOr<T> value) {
  Require(value.status());
  return *std::move(value);
}

// The decode request's step with everything in the device's memory.
class BareKernel {
 public:
  BareKernel(std::unique_ptr<Device> device, const ResidentClient::Shape& shape)
      : device_(std::move(device)),
        stream_(Require(device_->CreateStream(StreamPriority::kHigh))),
        started_(Require(device_->CreateEvent())),
        finished_(Require(device_->CreateEvent())),
        params_{.dtype = DType::kFloat32, .k = shape.k, .deterministic = true} {
    Random random(1);
    const auto columns = static_cast<int32_t>(shape.columns);
    const std::vector<float> scores = MakeScores(Pattern::kNormal, columns, random);
    std::vector<int32_t> pages(static_cast<size_t>((columns + kPageSize - 1) / kPageSize));
    std::iota(pages.begin(), pages.end(), 0);
    segment_.scores = Put(scores);
    segment_.rows = 1;
    segment_.columns = columns;
    segment_.row_stride = columns;
    segment_.lengths = reinterpret_cast<int32_t*>(Put(std::vector<int32_t>{columns}));
    segment_.pages.page_table = reinterpret_cast<int32_t*>(Put(pages));
    segment_.pages.row_stride = static_cast<int64_t>(pages.size());
    segment_.pages.table_rows = 1;
    segment_.pages.table_columns = static_cast<int32_t>(pages.size());
    segment_.pages.page_size = kPageSize;
    segment_.slots =
        reinterpret_cast<int32_t*>(Put(std::vector<int32_t>(static_cast<size_t>(shape.k), -1)));
    segment_.slots_row_stride = shape.k;
    segment_.report = reinterpret_cast<SegmentReport*>(Put(std::vector<SegmentReport>(1)));
    workspace_bytes_ = device_->TopKWorkspaceBytes(params_, {&segment_, 1});
    workspace_ = Put(std::vector<std::byte>(static_cast<size_t>(workspace_bytes_) + 1));
  }

  // `launches` one after another; device microseconds of each.
  double Batch(int launches) {
    Require(started_->Record(*stream_));
    for (int i = 0; i < launches; ++i) Enqueue();
    return Finish() / launches;
  }

  // One launch on an idle stream: the host's time to enqueue it between its events, the device's
  // time between them, and the host's time to the end.
  void Alone(Samples& samples) {
    const auto begin = SteadyClock::now();
    Require(started_->Record(*stream_));
    Enqueue();
    Require(finished_->Record(*stream_));
    const auto enqueued = SteadyClock::now();
    Require(finished_->Wait());
    const auto end = SteadyClock::now();
    samples.launch.push_back(Micros(enqueued - begin));
    samples.device.push_back(Require(finished_->MicrosSince(*started_)));
    samples.round_trip.push_back(Micros(end - begin));
  }

 private:
  static double Micros(SteadyClock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  }

  template <typename T>
  std::byte* Put(const std::vector<T>& values) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
    auto memory = Require(device_->Allocate(MemoryKind::kDevice, bytes));
    Require(device_->Copy(*stream_, memory->data(), values.data(), bytes));
    Require(stream_->Synchronize());
    memories_.push_back(std::move(memory));
    return memories_.back()->data();
  }

  void Enqueue() {
    Require(device_->TopK(*stream_, params_, {&segment_, 1},
                          {workspace_, static_cast<size_t>(workspace_bytes_)}));
  }

  double Finish() {
    Require(finished_->Record(*stream_));
    Require(finished_->Wait());
    return Require(finished_->MicrosSince(*started_));
  }

  const std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<DeviceMemory>> memories_;
  const std::unique_ptr<Stream> stream_;
  const std::unique_ptr<Event> started_, finished_;
  const TopKParams params_;
  TopKSegment segment_;
  int64_t workspace_bytes_ = 0;
  std::byte* workspace_ = nullptr;
};

}  // namespace

KernelTimes MeasureKernel(const ResidentClient::Shape& shape) {
  constexpr int kLaunches = 200;
  constexpr int kRepeats = 200;
  const char* const backend = std::getenv("WINNOW_TEST_BACKEND");
  const bool cuda = backend != nullptr && std::string(backend) == "cuda";
  BareKernel kernel(Require(cuda ? OpenCudaDevice({}) : OpenCpuDevice({})), shape);
  kernel.Batch(kLaunches);
  KernelTimes times;
  for (int i = 0; i < (cuda ? kRepeats : 1); ++i) {
    times.batch.device.push_back(kernel.Batch(kLaunches));
  }
  times.batch.round_trip = times.batch.device;
  for (int i = 0; i < 10 * kRepeats; ++i) kernel.Alone(times.alone);
  return times;
}

}  // namespace winnow::testing
