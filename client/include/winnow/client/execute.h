// Several steps in one request: build them with ExecuteBuilder, then call Client::Execute.
//
//   ExecuteBuilder chain;
//   Step keys = chain.BlockAmax({.scores = scores, .lengths = lengths, .keys = Placement::kKeep,
//                                .block_counts = Placement::kKeep});
//   chain.TopK({.scores = keys.Output(OutputName::kKeys),
//               .lengths = keys.Output(OutputName::kBlockCounts), .k = 2048});
//   absl::StatusOr<ExecuteResult> result = client.Execute(chain.request());

#ifndef WINNOW_CLIENT_EXECUTE_H_
#define WINNOW_CLIENT_EXECUTE_H_

#include <cstdint>
#include <variant>
#include <vector>

#include "winnow/client/requests.h"
#include "winnow/client/tensor.h"

namespace winnow::client {

struct ExecuteRequest {
  using Operation = std::variant<TopKRequest, BlockAmaxRequest, SortCandidateBlocksRequest>;
  std::vector<Operation> steps;  // run in order, 1 to ServerInfo::limits.max_steps
};

// Stands for a step that was added; a plain value that needs neither builder nor request.
class Step {
 public:
  int32_t index() const { return index_; }
  // The output as an input of a later step, with the type and shape that the step will give it. The
  // step must place it (kInline or kKeep): the server refuses the request otherwise, with
  // STEP_REFERENCE_INVALID. Absent when the operation has no such output.
  TensorRef Output(OutputName name) const;

 private:
  friend class ExecuteBuilder;
  explicit Step(int32_t index) : index_(index) {}
  void Declare(OutputName name, DType dtype, int64_t rows, int64_t columns);

  int32_t index_ = 0;
  std::vector<StepOutput> outputs_;
};

// Collects steps. The memory that the steps' views name must stay valid until Execute has taken the
// request. Thread safety: one thread at a time.
class ExecuteBuilder {
 public:
  Step TopK(TopKRequest request);
  Step BlockAmax(BlockAmaxRequest request);
  Step SortCandidateBlocks(SortCandidateBlocksRequest request);

  const ExecuteRequest& request() const { return request_; }

 private:
  Step Add(ExecuteRequest::Operation operation);

  ExecuteRequest request_;
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_EXECUTE_H_
