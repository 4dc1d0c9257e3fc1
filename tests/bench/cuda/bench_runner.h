// Runs benchmark cases on one GPU. Next: bench_memory.h for what they read and write, graph_timer.h
// for how they are timed.

#ifndef WINNOW_TESTS_BENCH_CUDA_BENCH_RUNNER_H_
#define WINNOW_TESTS_BENCH_CUDA_BENCH_RUNNER_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/runtime/stream.h"
#include "tests/bench/cuda/bench_case.h"
#include "tests/bench/cuda/bench_memory.h"
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
  absl::Status SetText(absl::Span<const float> text) { return memory_->SetText(text); }

  // Times the cases of one set in turns; one case is a set too. One result a case. Unimplemented
  // when the device has no kernel for an operation; InvalidArgument when the cases cannot be timed
  // together: all must be cold or all warm, read the same scores, and take as many replays.
  absl::StatusOr<std::vector<BenchResult>> Run(absl::Span<const BenchCase> set);

  const DeviceInfo& info() const { return device_->info(); }
  const cuda::DeviceTraits& traits() const { return device_->traits(); }

 private:
  BenchRunner() = default;
  absl::Status PrepareAll(absl::Span<const BenchCase> set);
  absl::StatusOr<std::vector<Timing>> TimeSet(absl::Span<const BenchCase> set);
  absl::StatusOr<Timing> TimeProduced(const BenchCase& bench_case);
  absl::StatusOr<double> FloorOf(const BenchCase& bench_case);
  absl::Status CheckReport();

  absl::Status Enqueue(const BenchCase& bench_case, int32_t launch);
  absl::Status EnqueueTopK(const BenchCase& bench_case, const std::byte* scores);
  absl::Status EnqueueBlockAmax(const BenchCase& bench_case, const std::byte* scores);
  absl::Status EnqueueSortBlocks(const BenchCase& bench_case, const int32_t* blocks);
  absl::Status EnqueuePublish(const BenchCase& bench_case, const std::byte* scores);
  absl::Status EnqueuePublishParts(const BenchCase& bench_case, const std::byte* scores);

  // In the order of construction; memory_ goes first when all is destroyed.
  std::unique_ptr<cuda::CudaDevice> device_;
  std::unique_ptr<cuda::CudaStream> stream_;
  std::unique_ptr<GraphTimer> timer_;
  std::unique_ptr<BenchMemory> memory_;
  std::map<std::tuple<int64_t, int64_t, Cache, bool>, double> floors_;
};

}  // namespace winnow::bench

#endif  // WINNOW_TESTS_BENCH_CUDA_BENCH_RUNNER_H_
