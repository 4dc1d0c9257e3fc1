// Times a sequence of launches as a CUDA graph, so that neither the host nor the launch path is in
// the figure.

#ifndef WINNOW_TESTS_BENCH_CUDA_GRAPH_TIMER_H_
#define WINNOW_TESTS_BENCH_CUDA_GRAPH_TIMER_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::bench {

struct Timing {
  double median_us = 0;  // of one launch, over the replays
  double min_us = 0;
};

struct TimerOptions {
  int32_t launches = 32;  // in the graph
  int32_t replays = 15;   // measured, after two that are not
};

class GraphTimer {
 public:
  // `stream` must outlive the timer. `flush_bytes` of device memory are read before each replay of
  // a cold measurement; more than twice the L2.
  static absl::StatusOr<GraphTimer> Create(cudaStream_t stream, int64_t flush_bytes);
  GraphTimer(GraphTimer&& other) noexcept;
  GraphTimer& operator=(GraphTimer&&) = delete;
  ~GraphTimer();

  // Captures enqueue(0) ... enqueue(launches - 1) and replays the graph. `cold`: L2 is flushed
  // before each replay; launches of one replay must then touch different memory.
  absl::StatusOr<Timing> Time(bool cold, const TimerOptions& options,
                              absl::FunctionRef<absl::Status(int32_t)> enqueue);
  // The same for `graphs` graphs, captured from enqueue(graph, 0) ... each, and replayed in turns:
  // one replay of each, in an order that rotates, then the next of each. What drifts while they
  // run falls on all of them.
  absl::StatusOr<std::vector<Timing>> TimeInTurns(
      bool cold, const TimerOptions& options, int32_t graphs,
      absl::FunctionRef<absl::Status(int32_t, int32_t)> enqueue);

  int32_t* sink() const { return sink_; }

 private:
  class CapturedGraph;

  GraphTimer(cudaStream_t stream, int64_t flush_bytes)
      : stream_(stream), flush_bytes_(flush_bytes) {}
  // Milliseconds of one replay.
  absl::StatusOr<double> Replay(bool cold, CapturedGraph& graph);

  cudaStream_t stream_;
  int64_t flush_bytes_;
  void* flush_ = nullptr;
  int32_t* sink_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

// Internal on a CUDA error, with its name.
absl::Status BenchStatus(cudaError_t error, const char* doing);

}  // namespace winnow::bench

#endif  // WINNOW_TESTS_BENCH_CUDA_GRAPH_TIMER_H_
