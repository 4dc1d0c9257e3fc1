#include "client/src/request_encoding.h"

#include <cstdint>
#include <variant>

#include "absl/strings/str_cat.h"
#include "client/src/request_shapes.h"
#include "client/src/tensor_encoding.h"
#include "winnow/kernels/error.h"
#include "winnow/kernels/operations.h"

namespace winnow::client {
namespace {

// One more than ours, so that an enum that is not ours stays one that the server refuses.
v1::SelectionOrder ToProto(Order order) {
  return static_cast<v1::SelectionOrder>(static_cast<int64_t>(order) + 1);
}

OutputShape Column(int64_t rows) { return {DType::kInt32, rows, 1}; }

void EncodeStep(const TopKRequest& request, v1::TopKStep& step, TensorEncoder& tensors) {
  tensors.Add("scores", request.scores, &step, &v1::TopKStep::mutable_scores);
  tensors.Add("lengths", request.lengths, &step, &v1::TopKStep::mutable_lengths);
  tensors.Add("row_starts", request.row_starts, &step, &v1::TopKStep::mutable_row_starts);
  tensors.Add("index_offsets", request.index_offsets, &step, &v1::TopKStep::mutable_index_offsets);
  tensors.Add(request.page_table, &step);
  step.set_k(request.k);
  step.set_order(ToProto(request.order));
  step.set_deterministic(request.deterministic);
  const OutputShape chosen = {DType::kInt32, request.scores.rows(), request.k};
  const OutputShape values = {request.scores.dtype(), request.scores.rows(), request.k};
  tensors.Add("indices", request.indices, chosen, &step, &v1::TopKStep::mutable_indices);
  tensors.Add("slots", request.slots, chosen, &step, &v1::TopKStep::mutable_slots);
  tensors.Add("values", request.values, values, &step, &v1::TopKStep::mutable_values);
  tensors.Add("plan", request.plan, ResourceKind::kPlan, &step, &v1::TopKStep::mutable_plan);
  if (request.static_threshold.has_value()) step.set_static_threshold(*request.static_threshold);
}

void EncodeStep(const BlockAmaxRequest& request, v1::BlockAmaxStep& step, TensorEncoder& tensors) {
  tensors.Add("scores", request.scores, &step, &v1::BlockAmaxStep::mutable_scores);
  tensors.Add("lengths", request.lengths, &step, &v1::BlockAmaxStep::mutable_lengths);
  step.set_block_size(request.block_size);
  step.set_skip_at_most(request.skip_at_most);
  step.set_key_column_count(request.key_columns);
  const int64_t rows = request.scores.rows();
  const OutputShape keys = {DType::kFloat32, rows, KeyColumns(request)};
  tensors.Add("keys", request.keys, keys, &step, &v1::BlockAmaxStep::mutable_keys);
  tensors.Add("block_counts", request.block_counts, Column(rows), &step,
              &v1::BlockAmaxStep::mutable_block_counts);
}

void EncodeStep(const SortCandidateBlocksRequest& request, v1::SortCandidateBlocksStep& step,
                TensorEncoder& tensors) {
  using Step = v1::SortCandidateBlocksStep;
  tensors.Add("blocks", request.blocks, &step, &Step::mutable_blocks);
  tensors.Add("lengths", request.lengths, &step, &Step::mutable_lengths);
  tensors.Add(request.page_table, &step);
  step.set_block_size(request.block_size);
  const int64_t rows = request.blocks.rows();
  const OutputShape blocks = {DType::kInt32, rows, request.blocks.columns()};
  tensors.Add("out_blocks", request.out_blocks, blocks, &step, &Step::mutable_out_blocks);
  tensors.Add("block_slots", request.block_slots, blocks, &step, &Step::mutable_block_slots);
  tensors.Add("candidate_lengths", request.candidate_lengths, Column(rows), &step,
              &Step::mutable_candidate_lengths);
}

template <typename Request, typename Message>
absl::Status EncodeUnary(const Request& request, Message& message, ResourceBindings* bindings) {
  TensorEncoder tensors;
  tensors.SetBindings(bindings);
  tensors.SetFieldPrefix("step.");
  EncodeStep(request, *message.mutable_step(), tensors);
  return tensors.status();
}

struct StepEncoder {
  v1::Step& step;
  TensorEncoder& tensors;

  void operator()(const TopKRequest& request) const {
    EncodeStep(request, *step.mutable_top_k(), tensors);
  }
  void operator()(const BlockAmaxRequest& request) const {
    EncodeStep(request, *step.mutable_block_amax(), tensors);
  }
  void operator()(const SortCandidateBlocksRequest& request) const {
    EncodeStep(request, *step.mutable_sort_candidate_blocks(), tensors);
  }
};

absl::string_view FieldOf(const ExecuteRequest::Operation& operation) {
  static constexpr absl::string_view kFields[] = {"top_k", "block_amax", "sort_candidate_blocks"};
  return kFields[operation.index()];
}

}  // namespace

absl::Status Encode(const PlanTopKRequest& request, v1::PlanTopKRequest& message) {
  TensorEncoder tensors;
  tensors.Add("lengths", request.lengths, &message, &v1::PlanTopKRequest::mutable_lengths);
  message.set_column_count(request.columns);
  message.set_k(request.k);
  message.set_data_type(static_cast<v1::DataType>(request.dtype));
  if (request.static_threshold.has_value()) message.set_static_threshold(*request.static_threshold);
  message.set_list_pooled_rows(request.list_pooled_rows);
  return tensors.status();
}

absl::Status Encode(const TopKRequest& request, v1::TopKRequest& message,
                    ResourceBindings* bindings) {
  return EncodeUnary(request, message, bindings);
}

absl::Status Encode(const BlockAmaxRequest& request, v1::BlockAmaxRequest& message,
                    ResourceBindings* bindings) {
  return EncodeUnary(request, message, bindings);
}

absl::Status Encode(const SortCandidateBlocksRequest& request,
                    v1::SortCandidateBlocksRequest& message, ResourceBindings* bindings) {
  return EncodeUnary(request, message, bindings);
}

absl::Status Encode(const PublishCandidatesRequest& request, v1::PublishCandidatesRequest& message,
                    ResourceBindings* bindings) {
  using Message = v1::PublishCandidatesRequest;
  TensorEncoder tensors;
  tensors.SetBindings(bindings);
  tensors.Add("scores", request.scores, &message, &Message::mutable_scores);
  tensors.Add("lengths", request.lengths, &message, &Message::mutable_lengths);
  tensors.Add(request.page_table, &message);
  message.set_k(request.k);
  message.set_k_blocks(request.k_blocks);
  message.set_block_size(request.block_size);
  message.set_order(ToProto(request.order));
  message.set_deterministic(request.deterministic);
  const int64_t rows = request.scores.rows();
  const OutputShape tokens = {DType::kInt32, rows, request.k == 0 ? kDefaultK : request.k};
  const OutputShape blocks = {DType::kInt32, rows,
                              request.k_blocks == 0 ? kDefaultKBlocks : request.k_blocks};
  tensors.Add("slots", request.slots, tokens, &message, &Message::mutable_slots);
  tensors.Add("indices", request.indices, tokens, &message, &Message::mutable_indices);
  tensors.Add("blocks", request.blocks, blocks, &message, &Message::mutable_blocks);
  tensors.Add("block_slots", request.block_slots, blocks, &message, &Message::mutable_block_slots);
  tensors.Add("candidate_lengths", request.candidate_lengths, Column(rows), &message,
              &Message::mutable_candidate_lengths);
  return tensors.status();
}

absl::Status Encode(const ConsumeCandidatesRequest& request, v1::ConsumeCandidatesRequest& message,
                    ResourceBindings* bindings) {
  using Message = v1::ConsumeCandidatesRequest;
  TensorEncoder tensors;
  tensors.SetBindings(bindings);
  tensors.Add("scores", request.scores, &message, &Message::mutable_scores);
  tensors.Add("candidate_lengths", request.candidate_lengths, &message,
              &Message::mutable_candidate_lengths);
  tensors.Add("block_slots", request.block_slots, &message, &Message::mutable_block_slots);
  message.set_k(request.k);
  message.set_block_size(request.block_size);
  message.set_order(ToProto(request.order));
  message.set_deterministic(request.deterministic);
  const int64_t rows = request.scores.rows();
  const int64_t k = request.k == 0 ? kDefaultK : request.k;
  const OutputShape tokens = {DType::kInt32, rows, k};
  const OutputShape values = {request.scores.dtype(), rows, k};
  tensors.Add("slots", request.slots, tokens, &message, &Message::mutable_slots);
  tensors.Add("indices", request.indices, tokens, &message, &Message::mutable_indices);
  tensors.Add("values", request.values, values, &message, &Message::mutable_values);
  return tensors.status();
}

absl::Status Encode(const ExecuteRequest& request, v1::ExecuteRequest& message,
                    ResourceBindings* bindings) {
  TensorEncoder tensors;
  tensors.SetBindings(bindings);
  for (const ExecuteRequest::Operation& operation : request.steps) {
    tensors.SetFieldPrefix(
        absl::StrCat("steps[", message.steps_size(), "].", FieldOf(operation), "."));
    std::visit(StepEncoder{*message.add_steps(), tensors}, operation);
  }
  return tensors.status();
}

absl::Status Encode(const NoFields&, v1::GetServerInfoRequest&) { return absl::OkStatus(); }

absl::Status Encode(const NoFields&, v1::GetStatsRequest&) { return absl::OkStatus(); }

absl::Status Encode(const NoFields&, v1::ListLeasesRequest&) { return absl::OkStatus(); }

absl::Status Encode(const EndLeaseRequest& request, v1::EndLeaseRequest& message) {
  message.set_lease_number(request.number);
  message.set_message(request.message);
  return absl::OkStatus();
}

absl::Status Encode(const ProbeOccupancyRequest& request, v1::ProbeOccupancyRequest& message) {
  message.set_cluster_size(request.cluster_size);
  message.set_blocks_per_multiprocessor(request.blocks_per_multiprocessor);
  if (request.device.has_value()) message.set_device(*request.device);
  return absl::OkStatus();
}

absl::Status Encode(const DrainRequest& request, v1::DrainRequest& message) {
  if (request.timeout == absl::InfiniteDuration()) return absl::OkStatus();
  EncodeDuration(request.timeout, *message.mutable_timeout_duration());
  return absl::OkStatus();
}

void EncodeDuration(absl::Duration duration, google::protobuf::Duration& message) {
  absl::Duration rest;
  message.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  message.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
}

absl::Status Encode(const std::string& service, google::protobuf::StringValue& message) {
  message.set_value(service);
  return absl::OkStatus();
}

}  // namespace winnow::client
