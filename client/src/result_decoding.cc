#include "client/src/result_decoding.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::client {
namespace {

Timing ToTiming(const v1::Timing& message) {
  return {.queue = ToDuration(message.queue_duration()),
          .launch = ToDuration(message.launch_duration()),
          .device = ToDuration(message.device_duration()),
          .total = ToDuration(message.total_duration()),
          .batch_requests = message.batch_request_count(),
          .batch_rows = message.batch_row_count()};
}

absl::Status MalformedReply(absl::string_view what) {
  return absl::InternalError(absl::StrCat("the server's reply is malformed: ", what));
}

absl::StatusOr<Matrix> TakeMatrix(v1::NamedTensor& output) {
  v1::Tensor& tensor = *output.mutable_tensor();
  auto matrix = Matrix::Create(static_cast<DType>(tensor.data_type()), tensor.row_count(),
                               tensor.column_count(), std::move(*tensor.mutable_inline_data()));
  if (!matrix.ok()) {
    return MalformedReply(absl::StrCat(Name(static_cast<OutputName>(output.name())), ": ",
                                       matrix.status().message()));
  }
  return matrix;
}

struct Destination {
  OutputName name;
  Matrix* matrix;
};

// Moves each output to its destination. One that nobody asked for is ignored, so that a newer
// server may send more.
absl::Status TakeOutputs(v1::StepResult& message, std::initializer_list<Destination> destinations) {
  for (v1::NamedTensor& output : *message.mutable_outputs()) {
    for (const Destination& destination : destinations) {
      if (static_cast<OutputName>(output.name()) != destination.name) continue;
      WINNOW_ASSIGN_OR_RETURN(*destination.matrix, TakeMatrix(output));
    }
  }
  return absl::OkStatus();
}

template <typename Message>
absl::Status DecodeTopK(Message& message, TopKResult& result) {
  v1::StepResult& step = *message.mutable_result();
  result.negative_rows = step.negative_row_count();
  result.routes = ToRouteCounts(step.routes());
  result.timing = ToTiming(message.timing());
  return TakeOutputs(step, {{OutputName::kIndices, &result.indices},
                            {OutputName::kSlots, &result.slots},
                            {OutputName::kValues, &result.values}});
}

PlanReason ToPlanReason(v1::PlanReason reason) {
  switch (reason) {
    case v1::PLAN_REASON_HEURISTIC:
      return PlanReason::kHeuristic;
    case v1::PLAN_REASON_NO_POOL:
      return PlanReason::kNoPool;
    default:
      return PlanReason::kAsRequested;
  }
}

}  // namespace

RouteCounts ToRouteCounts(const v1::RouteCounts& message) {
  return {.identity = message.identity_row_count(),
          .single_block = message.single_block_row_count(),
          .streaming = message.streaming_row_count(),
          .cluster = message.cluster_row_count(),
          .split = message.split_row_count()};
}

absl::Duration ToDuration(const google::protobuf::Duration& message) {
  return absl::Seconds(message.seconds()) + absl::Nanoseconds(message.nanos());
}

absl::Status Decode(v1::PlanTopKResponse& message, PlanTopKResult& result) {
  result.effective_threshold = message.effective_threshold();
  result.reason = ToPlanReason(message.reason());
  result.written = message.written();
  result.routes = ToRouteCounts(message.routes());
  result.pool_width = message.pool_width();
  result.cluster_size = message.cluster_size();
  result.pooled_rows.assign(message.pooled_rows().begin(), message.pooled_rows().end());
  result.negative_rows = message.negative_row_count();
  return absl::OkStatus();
}

absl::Status Decode(v1::TopKResponse& message, TopKResult& result) {
  return DecodeTopK(message, result);
}

absl::Status Decode(v1::ConsumeCandidatesResponse& message, ConsumeCandidatesResult& result) {
  return DecodeTopK(message, result);
}

absl::Status Decode(v1::BlockAmaxResponse& message, BlockAmaxResult& result) {
  v1::StepResult& step = *message.mutable_result();
  result.negative_rows = step.negative_row_count();
  result.timing = ToTiming(message.timing());
  return TakeOutputs(
      step, {{OutputName::kKeys, &result.keys}, {OutputName::kBlockCounts, &result.block_counts}});
}

absl::Status Decode(v1::SortCandidateBlocksResponse& message, SortCandidateBlocksResult& result) {
  v1::StepResult& step = *message.mutable_result();
  result.negative_rows = step.negative_row_count();
  result.timing = ToTiming(message.timing());
  return TakeOutputs(step, {{OutputName::kBlocks, &result.blocks},
                            {OutputName::kBlockSlots, &result.block_slots},
                            {OutputName::kCandidateLengths, &result.candidate_lengths}});
}

absl::Status Decode(v1::PublishCandidatesResponse& message, PublishCandidatesResult& result) {
  v1::StepResult& step = *message.mutable_result();
  result.negative_rows = step.negative_row_count();
  result.routes = ToRouteCounts(step.routes());
  result.timing = ToTiming(message.timing());
  return TakeOutputs(step, {{OutputName::kSlots, &result.slots},
                            {OutputName::kIndices, &result.indices},
                            {OutputName::kBlocks, &result.blocks},
                            {OutputName::kBlockSlots, &result.block_slots},
                            {OutputName::kCandidateLengths, &result.candidate_lengths}});
}

absl::Status Decode(v1::ExecuteResponse& message, ExecuteResult& result) {
  result.timing = ToTiming(message.timing());
  for (v1::StepResult& step : *message.mutable_results()) {
    StepResult& out = result.steps.emplace_back();
    out.negative_rows = step.negative_row_count();
    out.routes = ToRouteCounts(step.routes());
    for (v1::NamedTensor& output : *step.mutable_outputs()) {
      WINNOW_ASSIGN_OR_RETURN(Matrix matrix, TakeMatrix(output));
      out.outputs.push_back({static_cast<OutputName>(output.name()), std::move(matrix)});
    }
  }
  return absl::OkStatus();
}

absl::Status Decode(v1::ProbeOccupancyResponse& message, int32_t& clusters) {
  clusters = message.active_cluster_count();
  return absl::OkStatus();
}

absl::Status Decode(v1::DrainResponse& message, DrainResult& result) {
  result.pending_requests = message.pending_request_count();
  return absl::OkStatus();
}

absl::Status Decode(google::protobuf::Int32Value& message, HealthStatus& status) {
  status = static_cast<HealthStatus>(message.value());
  return absl::OkStatus();
}

}  // namespace winnow::client
