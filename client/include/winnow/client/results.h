// The operations' results. Each owns its memory. An output that the request did not place inline is
// an empty Matrix. Next: server_info.h for what the admin calls give.

#ifndef WINNOW_CLIENT_RESULTS_H_
#define WINNOW_CLIENT_RESULTS_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "winnow/client/matrix.h"
#include "winnow/client/tensor.h"
#include "winnow/kernels/operations.h"

namespace winnow::client {

// Rows by the way they were selected; see winnow::Route.
struct RouteCounts {
  int64_t identity = 0;
  int64_t single_block = 0;
  int64_t streaming = 0;
  int64_t cluster = 0;
  int64_t split = 0;
};

// Where the time of a request went, as the server saw it.
struct Timing {
  absl::Duration queue;        // arrival to launch
  absl::Duration launch;       // staging and enqueueing on the host
  absl::Duration device;       // see Timing.device_duration in steps.proto
  absl::Duration total;        // arrival to the reply being ready
  int32_t batch_requests = 0;  // requests that shared the launch, this one included
  int64_t batch_rows = 0;      // rows of the launch
};

struct PlanTopKResult {
  int32_t effective_threshold = 0;  // longer rows are pooled; INT32_MAX: no row can be
  PlanReason reason = PlanReason::kAsRequested;
  bool written = false;  // whether any row is routed to the pool
  RouteCounts routes;
  int32_t pool_width = 0;            // thread blocks (CPU: threads) that share pooled rows at once
  int32_t cluster_size = 0;          // blocks of a cluster; 0 without clusters
  std::vector<int32_t> pooled_rows;  // ascending; only when asked for
  int64_t negative_rows = 0;         // rows whose length was negative; they counted as empty
};

struct TopKResult {
  Matrix indices;
  Matrix slots;
  Matrix values;
  int64_t negative_rows = 0;
  RouteCounts routes;
  Timing timing;
};

using ConsumeCandidatesResult = TopKResult;

struct BlockAmaxResult {
  Matrix keys;
  Matrix block_counts;
  int64_t negative_rows = 0;
  Timing timing;
};

struct SortCandidateBlocksResult {
  Matrix blocks;
  Matrix block_slots;
  Matrix candidate_lengths;
  int64_t negative_rows = 0;
  Timing timing;
};

struct PublishCandidatesResult {
  Matrix slots;
  Matrix indices;
  Matrix blocks;
  Matrix block_slots;
  Matrix candidate_lengths;
  int64_t negative_rows = 0;
  RouteCounts routes;
  Timing timing;
};

// Result of one step of Execute.
struct StepResult {
  struct NamedMatrix {
    OutputName name = OutputName::kUnspecified;
    Matrix matrix;
  };
  std::vector<NamedMatrix> outputs;  // those placed inline, by OutputName
  int64_t negative_rows = 0;
  RouteCounts routes;

  // The output, or null when it is not inline. Valid until `outputs` changes.
  const Matrix* Find(OutputName name) const;
};

struct ExecuteResult {
  std::vector<StepResult> steps;  // one per step, in the same order
  Timing timing;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_RESULTS_H_
