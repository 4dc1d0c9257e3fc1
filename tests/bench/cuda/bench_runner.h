// Runs benchmark cases on one GPU. Memory is allocated once; launches of a cold case rotate over
// buffers that together exceed twice the L2.

#ifndef WINNOW_TESTS_BENCH_CUDA_BENCH_RUNNER_H_
#define WINNOW_TESTS_BENCH_CUDA_BENCH_RUNNER_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/runtime/stream.h"
#include "tests/bench/cuda/bench_case.h"
#include "tests/bench/cuda/graph_timer.h"

namespace winnow::bench {

struct BenchResult {
  Timing operation;
  double floor_us = 0;  // a kernel that only moves the bytes, measured in the same way
};

class BenchRunner {
 public:
  static absl::StatusOr<std::unique_ptr<BenchRunner>> Create(int32_t ordinal);

  // The scores of Data::kText, which cases of it need. Once.
  absl::Status SetText(absl::Span<const float> text);

  // Unimplemented when the device has no kernel for the operation.
  absl::StatusOr<BenchResult> Run(const BenchCase& bench_case);

  const DeviceInfo& info() const { return device_->info(); }
  const cuda::DeviceTraits& traits() const { return device_->traits(); }

 private:
  BenchRunner() = default;
  absl::Status Allocate();
  absl::StatusOr<std::byte*> Take(int64_t bytes);
  absl::Status Prepare(const BenchCase& bench_case);
  absl::Status FillPool(const BenchCase& bench_case);
  absl::StatusOr<double> FloorOf(const BenchCase& bench_case);
  absl::StatusOr<Timing> TimeProduced(const BenchCase& bench_case);

  std::byte* ScoresOf(const BenchCase& bench_case, int32_t launch) const;
  absl::Status Enqueue(const BenchCase& bench_case, int32_t launch);
  absl::Status EnqueueTopK(const BenchCase& bench_case, std::byte* scores);
  absl::Status EnqueueBlockAmax(const BenchCase& bench_case, std::byte* scores);
  absl::Status EnqueueSortBlocks(const BenchCase& bench_case, std::byte* scores);
  absl::Status EnqueuePublish(const BenchCase& bench_case, std::byte* scores);
  PageTransform Pages(const BenchCase& bench_case, int32_t page_size) const;

  // In the order of construction; memory_ goes first when all is destroyed.
  std::unique_ptr<cuda::CudaDevice> device_;
  std::unique_ptr<cuda::CudaStream> stream_;
  std::unique_ptr<GraphTimer> timer_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::byte* pool_ = nullptr;    // scores, or ids
  std::byte* source_ = nullptr;  // of produced scores
  std::byte* out_ = nullptr;
  float* text_ = nullptr;
  int64_t text_count_ = 0;
  int32_t* pages_ = nullptr;
  int32_t* lengths_ = nullptr;
  int32_t* starts_ = nullptr;
  SegmentReport* report_ = nullptr;
  absl::Span<std::byte> workspace_;
  // What the pool and the lengths hold now, so that they are not filled again.
  std::tuple<DType, Data, bool> pool_content_ = {DType::kUnspecified, Data::kNormal, false};
  int32_t filled_length_ = -1;
  std::pair<int32_t, int32_t> filled_ids_ = {0, 0};
  std::map<std::tuple<int64_t, int64_t, Cache, bool>, double> floors_;
};

}  // namespace winnow::bench

#endif  // WINNOW_TESTS_BENCH_CUDA_BENCH_RUNNER_H_
