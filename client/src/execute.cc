#include "winnow/client/execute.h"

#include <utility>

#include "client/src/request_shapes.h"

namespace winnow::client {

TensorRef Step::Output(OutputName name) const {
  for (const StepOutput& output : outputs_) {
    if (output.output == name) return output;
  }
  return TensorRef();
}

void Step::Declare(OutputName name, DType dtype, int64_t rows, int64_t columns) {
  outputs_.push_back({index_, name, dtype, rows, columns});
}

Step ExecuteBuilder::Add(ExecuteRequest::Operation operation) {
  request_.steps.push_back(std::move(operation));
  return Step(static_cast<int32_t>(request_.steps.size() - 1));
}

Step ExecuteBuilder::TopK(TopKRequest request) {
  const int64_t rows = request.scores.rows();
  const int32_t k = request.k;
  const DType dtype = request.scores.dtype();
  Step step = Add(std::move(request));
  step.Declare(OutputName::kIndices, DType::kInt32, rows, k);
  step.Declare(OutputName::kSlots, DType::kInt32, rows, k);
  step.Declare(OutputName::kValues, dtype, rows, k);
  return step;
}

Step ExecuteBuilder::BlockAmax(BlockAmaxRequest request) {
  const int64_t rows = request.scores.rows();
  const int64_t key_columns = KeyColumns(request);
  Step step = Add(std::move(request));
  step.Declare(OutputName::kKeys, DType::kFloat32, rows, key_columns);
  step.Declare(OutputName::kBlockCounts, DType::kInt32, rows, 1);
  return step;
}

Step ExecuteBuilder::SortCandidateBlocks(SortCandidateBlocksRequest request) {
  const int64_t rows = request.blocks.rows();
  const int64_t width = request.blocks.columns();
  Step step = Add(std::move(request));
  step.Declare(OutputName::kBlocks, DType::kInt32, rows, width);
  step.Declare(OutputName::kBlockSlots, DType::kInt32, rows, width);
  step.Declare(OutputName::kCandidateLengths, DType::kInt32, rows, 1);
  return step;
}

}  // namespace winnow::client
