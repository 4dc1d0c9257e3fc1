// What a request must give, computed from its message with winnow::reference, without any code of
// the server.

#ifndef WINNOW_TESTS_TESTING_REFERENCE_RESULTS_H_
#define WINNOW_TESTS_TESTING_REFERENCE_RESULTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/v1/indexer_service.pb.h"

namespace winnow::testing {

// The inline outputs in the order of OutputName, deterministic whatever the request says. Tensors
// must be inline. An error is that of the checks, or of the first fault in the data.
using Outputs = std::vector<v1::NamedTensor>;
absl::StatusOr<Outputs> ReferenceOf(const v1::TopKStep& step);
absl::StatusOr<Outputs> ReferenceOf(const v1::BlockAmaxStep& step);
absl::StatusOr<Outputs> ReferenceOf(const v1::SortCandidateBlocksStep& step);
absl::StatusOr<Outputs> ReferenceOf(const v1::PublishCandidatesRequest& request);
absl::StatusOr<Outputs> ReferenceOf(const v1::ConsumeCandidatesRequest& request);

// The tensor of that name; stops the program when there is none.
const v1::Tensor& FindOutput(const google::protobuf::RepeatedPtrField<v1::NamedTensor>& outputs,
                             v1::OutputName name);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_TESTING_REFERENCE_RESULTS_H_
