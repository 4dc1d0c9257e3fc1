#include "tests/bench/cuda/graph_timer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cuda/runtime/cuda_status.h"
#include "tests/bench/cuda/bench_kernels.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::bench {

// Owns a graph from capture to the last replay.
class GraphTimer::CapturedGraph {
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

absl::StatusOr<double> GraphTimer::Replay(bool cold, CapturedGraph& graph) {
  // What goes before the measured replay also hides the time that launching it takes.
  WINNOW_RETURN_IF_ERROR(cold ? BenchStatus(Flush(stream_, flush_, flush_bytes_, sink_), "flushing")
                              : graph.Launch(stream_));
  WINNOW_RETURN_IF_ERROR(BenchStatus(cudaEventRecord(start_, stream_), "recording"));
  WINNOW_RETURN_IF_ERROR(graph.Launch(stream_));
  WINNOW_RETURN_IF_ERROR(BenchStatus(cudaEventRecord(stop_, stream_), "recording"));
  WINNOW_RETURN_IF_ERROR(BenchStatus(cudaEventSynchronize(stop_), "waiting for a replay"));
  float milliseconds = 0;
  WINNOW_RETURN_IF_ERROR(
      BenchStatus(cudaEventElapsedTime(&milliseconds, start_, stop_), "reading a time"));
  return milliseconds;
}

absl::StatusOr<Timing> GraphTimer::Time(bool cold, const TimerOptions& options,
                                        absl::FunctionRef<absl::Status(int32_t)> enqueue) {
  const auto only = [&](int32_t, int32_t launch) { return enqueue(launch); };
  WINNOW_ASSIGN_OR_RETURN(const std::vector<Timing> timings, TimeInTurns(cold, options, 1, only));
  return timings.front();
}

absl::StatusOr<std::vector<Timing>> GraphTimer::TimeInTurns(
    bool cold, const TimerOptions& options, int32_t graphs,
    absl::FunctionRef<absl::Status(int32_t, int32_t)> enqueue) {
  std::vector<CapturedGraph> captured(graphs);
  for (int32_t graph = 0; graph < graphs; ++graph) {
    WINNOW_RETURN_IF_ERROR(captured[graph].Capture(
        stream_, options.launches, [&](int32_t launch) { return enqueue(graph, launch); }));
  }
  std::vector<std::vector<double>> times(graphs);
  constexpr int32_t kWarmUp = 2;
  for (int32_t replay = 0; replay < options.replays + kWarmUp; ++replay) {
    for (int32_t turn = 0; turn < graphs; ++turn) {
      const int32_t graph = (replay + turn) % graphs;
      WINNOW_ASSIGN_OR_RETURN(const double milliseconds, Replay(cold, captured[graph]));
      if (replay >= kWarmUp) times[graph].push_back(milliseconds * 1e3 / options.launches);
    }
  }
  std::vector<Timing> timings;
  for (std::vector<double>& of_graph : times) {
    std::sort(of_graph.begin(), of_graph.end());
    timings.push_back({.median_us = of_graph[of_graph.size() / 2], .min_us = of_graph.front()});
  }
  return timings;
}

}  // namespace winnow::bench
