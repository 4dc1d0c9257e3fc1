#include "server/backend/work_shape.h"

namespace winnow::server {
namespace {

int32_t ColumnsOf(const TopKStep& step, OutputName) { return step.params.k; }
int32_t ColumnsOf(const BlockAmaxStep& step, OutputName) { return step.key_columns; }
int32_t ColumnsOf(const SortBlocksStep& step, OutputName) { return step.params.width; }
int32_t ColumnsOf(const PublishStep& step, OutputName name) {
  const bool of_blocks = name == OutputName::kBlocks || name == OutputName::kBlockSlots;
  return of_blocks ? step.params.k_blocks : step.params.k;
}

DType ScoresDtype(const Step& step) {
  const auto* top_k = std::get_if<TopKStep>(&step);
  return top_k == nullptr ? DType::kUnspecified : top_k->params.dtype;
}

}  // namespace

int64_t RowsOf(const Step& step) {
  return std::visit(
      [](const auto& operation) {
        if constexpr (internal::kIs<std::remove_reference_t<decltype(operation)>, SortBlocksStep>) {
          return operation.blocks.rows;
        } else {
          return operation.scores.rows;
        }
      },
      step);
}

OutputShape ShapeOf(const Step& step, OutputName name) {
  if (FindOutput(step, name) == nullptr) return {};
  OutputShape shape{.dtype = DType::kInt32, .rows = RowsOf(step), .columns = 1};
  if (name == OutputName::kBlockCounts || name == OutputName::kCandidateLengths) return shape;
  if (name == OutputName::kKeys) shape.dtype = DType::kFloat32;
  if (name == OutputName::kValues) shape.dtype = ScoresDtype(step);
  shape.columns =
      std::visit([name](const auto& operation) { return ColumnsOf(operation, name); }, step);
  return shape;
}

const OutputRef* FindOutput(const Step& step, OutputName name) {
  const OutputRef* found = nullptr;
  ForEachOutput(step, [&](OutputName candidate, const OutputRef& output) {
    if (candidate == name) found = &output;
  });
  return found;
}

absl::string_view FieldOf(const Step& step, OutputName name) {
  switch (name) {
    case OutputName::kNone:
      break;
    case OutputName::kIndices:
      return "indices";
    case OutputName::kSlots:
      return "slots";
    case OutputName::kValues:
      return "values";
    case OutputName::kKeys:
      return "keys";
    case OutputName::kBlockCounts:
      return "block_counts";
    case OutputName::kBlocks:
      return std::holds_alternative<SortBlocksStep>(step) ? "out_blocks" : "blocks";
    case OutputName::kBlockSlots:
      return "block_slots";
    case OutputName::kCandidateLengths:
      return "candidate_lengths";
  }
  return "output";
}

}  // namespace winnow::server
