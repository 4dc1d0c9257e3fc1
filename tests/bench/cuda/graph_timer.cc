#include "tests/bench/cuda/graph_timer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cuda/runtime/cuda_status.h"
#include "tests/bench/cuda/bench_kernels.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::bench {
namespace {

// Owns a graph from capture to the last replay.
class CapturedGraph {
 public:
  CapturedGraph() = default;
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  ~CapturedGraph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }

  absl::Status Capture(cudaStream_t stream, int32_t launches,
                       absl::FunctionRef<absl::Status(int32_t)> enqueue) {
    WINNOW_RETURN_IF_ERROR(BenchStatus(
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "starting a capture"));
    absl::Status status;
    for (int32_t i = 0; i < launches && status.ok(); ++i) status = enqueue(i);
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph_);
    WINNOW_RETURN_IF_ERROR(status);
    WINNOW_RETURN_IF_ERROR(BenchStatus(ended, "ending a capture"));
    return BenchStatus(cudaGraphInstantiate(&executable_, graph_, 0), "instantiating a graph");
  }

  absl::Status Launch(cudaStream_t stream) {
    return BenchStatus(cudaGraphLaunch(executable_, stream), "launching a graph");
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

absl::Status BenchStatus(cudaError_t error, const char* doing) {
  return cuda::StatusFromCuda(error, doing, 0);
}

absl::StatusOr<GraphTimer> GraphTimer::Create(cudaStream_t stream, int64_t flush_bytes) {
  GraphTimer timer(stream, flush_bytes);
  WINNOW_RETURN_IF_ERROR(BenchStatus(cudaMalloc(&timer.flush_, flush_bytes), "allocating"));
  WINNOW_RETURN_IF_ERROR(
      BenchStatus(cudaMemsetAsync(timer.flush_, 1, flush_bytes, stream), "filling"));
  WINNOW_RETURN_IF_ERROR(
      BenchStatus(cudaMalloc(reinterpret_cast<void**>(&timer.sink_), 4), "allocating"));
  WINNOW_RETURN_IF_ERROR(BenchStatus(cudaEventCreate(&timer.start_), "creating an event"));
  WINNOW_RETURN_IF_ERROR(BenchStatus(cudaEventCreate(&timer.stop_), "creating an event"));
  return timer;
}

GraphTimer::GraphTimer(GraphTimer&& other) noexcept
    : stream_(other.stream_),
      flush_bytes_(other.flush_bytes_),
      flush_(std::exchange(other.flush_, nullptr)),
      sink_(std::exchange(other.sink_, nullptr)),
      start_(std::exchange(other.start_, nullptr)),
      stop_(std::exchange(other.stop_, nullptr)) {}

GraphTimer::~GraphTimer() {
  if (start_ != nullptr) cudaEventDestroy(start_);
  if (stop_ != nullptr) cudaEventDestroy(stop_);
  cudaFree(sink_);
  cudaFree(flush_);
}

absl::StatusOr<Timing> GraphTimer::Time(bool cold, const TimerOptions& options,
                                        absl::FunctionRef<absl::Status(int32_t)> enqueue) {
  CapturedGraph graph;
  WINNOW_RETURN_IF_ERROR(graph.Capture(stream_, options.launches, enqueue));
  std::vector<double> times;
  constexpr int32_t kWarmUp = 2;
  for (int32_t replay = 0; replay < options.replays + kWarmUp; ++replay) {
    // What goes before the measured replay also hides the time that launching it takes.
    WINNOW_RETURN_IF_ERROR(
        cold ? BenchStatus(Flush(stream_, flush_, flush_bytes_, sink_), "flushing")
             : graph.Launch(stream_));
    WINNOW_RETURN_IF_ERROR(BenchStatus(cudaEventRecord(start_, stream_), "recording"));
    WINNOW_RETURN_IF_ERROR(graph.Launch(stream_));
    WINNOW_RETURN_IF_ERROR(BenchStatus(cudaEventRecord(stop_, stream_), "recording"));
    WINNOW_RETURN_IF_ERROR(BenchStatus(cudaEventSynchronize(stop_), "waiting for a replay"));
    float milliseconds = 0;
    WINNOW_RETURN_IF_ERROR(
        BenchStatus(cudaEventElapsedTime(&milliseconds, start_, stop_), "reading a time"));
    if (replay >= kWarmUp) times.push_back(milliseconds * 1e3 / options.launches);
  }
  std::sort(times.begin(), times.end());
  return Timing{.median_us = times[times.size() / 2], .min_us = times.front()};
}

}  // namespace winnow::bench
