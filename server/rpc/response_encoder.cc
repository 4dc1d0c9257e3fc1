#include "server/rpc/response_encoder.h"

#include <cstring>
#include <utility>
#include <variant>

#include "winnow/kernels/operations.h"

namespace winnow::server {
namespace {

static_assert(static_cast<int>(PlanReason::kAsRequested) + 1 == v1::PLAN_REASON_AS_REQUESTED);
static_assert(static_cast<int>(PlanReason::kHeuristic) + 1 == v1::PLAN_REASON_HEURISTIC);
static_assert(static_cast<int>(PlanReason::kNoPool) + 1 == v1::PLAN_REASON_NO_POOL);

void EncodeOutput(OutputTensor& output, v1::NamedTensor& encoded) {
  encoded.set_name(static_cast<v1::OutputName>(output.name));
  v1::Tensor& tensor = *encoded.mutable_tensor();
  tensor.set_data_type(static_cast<v1::DataType>(output.dtype));
  tensor.set_row_count(output.rows);
  tensor.set_column_count(output.columns);
  tensor.set_inline_data(std::move(output.data));
}

void EncodeResult(const Step& step, StepResult& result, v1::StepResult& encoded) {
  for (OutputTensor& output : result.outputs) EncodeOutput(output, *encoded.add_outputs());
  encoded.set_negative_row_count(result.negative_rows);
  if (std::holds_alternative<TopKStep>(step) || std::holds_alternative<PublishStep>(step)) {
    EncodeRoutes(result.route_rows, *encoded.mutable_routes());
  }
}

void EncodeTiming(const WorkTiming& timing, v1::Timing& encoded) {
  EncodeDuration(timing.queued, *encoded.mutable_queue_duration());
  EncodeDuration(timing.launch, *encoded.mutable_launch_duration());
  EncodeDuration(timing.device, *encoded.mutable_device_duration());
  EncodeDuration(timing.total, *encoded.mutable_total_duration());
  encoded.set_batch_request_count(timing.batch_items);
  encoded.set_batch_row_count(timing.batch_rows);
}

template <typename Response>
void EncodeSingle(WorkItem& item, Response& response) {
  EncodeResult(item.steps[0], item.results[0], *response.mutable_result());
  EncodeTiming(item.timing, *response.mutable_timing());
}

}  // namespace

void EncodeDuration(absl::Duration duration, google::protobuf::Duration& encoded) {
  // Saturates after 292 years.
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t nanos = absl::ToInt64Nanoseconds(duration);
  encoded.set_seconds(nanos / kSecond);
  encoded.set_nanos(static_cast<int32_t>(nanos % kSecond));
}

void EncodeRoutes(const int32_t* route_rows, v1::RouteCounts& encoded) {
  const auto rows = [route_rows](Route route) { return route_rows[static_cast<int>(route)]; };
  encoded.set_identity_row_count(rows(Route::kIdentity));
  encoded.set_single_block_row_count(rows(Route::kSingleBlock));
  encoded.set_streaming_row_count(rows(Route::kStreaming));
  encoded.set_cluster_row_count(rows(Route::kCluster));
  encoded.set_split_row_count(rows(Route::kSplit));
}

void EncodeTopK(WorkItem& item, v1::TopKResponse& response) { EncodeSingle(item, response); }

void EncodeBlockAmax(WorkItem& item, v1::BlockAmaxResponse& response) {
  EncodeSingle(item, response);
}

void EncodeSortBlocks(WorkItem& item, v1::SortCandidateBlocksResponse& response) {
  EncodeSingle(item, response);
}

void EncodePublish(WorkItem& item, v1::PublishCandidatesResponse& response) {
  EncodeSingle(item, response);
}

void EncodeConsume(WorkItem& item, v1::ConsumeCandidatesResponse& response) {
  EncodeSingle(item, response);
}

void EncodeExecute(WorkItem& item, v1::ExecuteResponse& response) {
  for (size_t i = 0; i < item.steps.size(); ++i) {
    EncodeResult(item.steps[i], item.results[i], *response.add_results());
  }
  EncodeTiming(item.timing, *response.mutable_timing());
}

void EncodePlan(const std::byte* plan, bool list_pooled_rows, v1::PlanTopKResponse& response) {
  PlanHeader header;
  std::memcpy(&header, plan, sizeof(header));
  response.set_effective_threshold(header.effective_threshold);
  response.set_reason(static_cast<v1::PlanReason>(header.reason + 1));
  response.set_written(header.pooled_row_count > 0);
  EncodeRoutes(header.route_rows, *response.mutable_routes());
  response.set_pool_width(header.pool_width);
  response.set_cluster_size(header.cluster_size);
  response.set_negative_row_count(header.negative_rows);
  if (!list_pooled_rows) return;
  const std::byte* pooled = plan + sizeof(header) + int64_t{4} * header.rows;
  auto& rows = *response.mutable_pooled_rows();
  rows.Resize(header.pooled_row_count, 0);
  std::memcpy(rows.mutable_data(), pooled, int64_t{4} * header.pooled_row_count);
}

}  // namespace winnow::server
