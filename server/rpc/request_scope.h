// What the request decoders share: one RequestScope per request counts inline bytes and remembers
// the outputs of earlier steps; its methods decode the messages of tensor.proto. Private to
// server/rpc.

#ifndef WINNOW_SERVER_RPC_REQUEST_SCOPE_H_
#define WINNOW_SERVER_RPC_REQUEST_SCOPE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/backend/work.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/request_resources.h"
#include "winnow/kernels/error.h"
#include "winnow/v1/steps.pb.h"
#include "winnow/v1/tensor.pb.h"

namespace winnow::server {

// Whether a request is one operation, steps that may refer to each other and keep outputs, or one
// whose tensors the host reads, so that they are inline.
enum class RequestKind { kUnary, kSteps, kInline };

// What an operation accepts for a matrix.
struct MatrixRule {
  bool scores = true;  // float32 or bfloat16; otherwise int32
  int64_t max_rows = kMaxRows;
  int64_t min_columns = 0;
  int64_t max_columns = kMaxColumns;
};

class RequestScope {
 public:
  // `resources` is null for a request without a lease.
  RequestScope(const DecodeLimits& limits, RequestKind kind, RequestResources* resources)
      : limits_(limits), kind_(kind), resources_(resources) {}

  // Decodes one tensor. A null `tensor` is FIELD_MISSING. Errors name fields below `field`.
  absl::Status Matrix(absl::string_view field, const v1::Tensor* tensor, const MatrixRule& rule,
                      TensorRef& matrix);

  // An int32 [rows, 1] tensor without gaps. A null `tensor` is left absent; see RequiredVector.
  absl::Status Vector(absl::string_view field, const v1::Tensor* tensor, int64_t rows,
                      TensorRef& vector);
  absl::Status RequiredVector(absl::string_view field, const v1::Tensor* tensor, int64_t rows,
                              TensorRef& vector);

  // A page table for `rows` score rows. Absent is FIELD_MISSING when `needed_by` names an output,
  // and present is FIELDS_CONFLICT when it names none.
  absl::Status Pages(const v1::PageTable* pages, int64_t rows, absl::string_view needed_by,
                     PageTableRef& decoded);

  // The plan of a TopK, when it names one.
  absl::Status PlanOf(const v1::TopKStep& step, TopKStep& decoded);

  // One output of the current step, of the shape that the inputs imply.
  struct OutputShape {
    OutputName name;
    DType dtype;
    int64_t rows;
    int64_t columns;
  };
  absl::Status Output(absl::string_view field, const v1::OutputTarget* target,
                      const OutputShape& shape, OutputRef& output);

  // Ends the current step: what it placed may be used by later ones.
  void EndStep();

 private:
  absl::Status Shape(const v1::Tensor& tensor, const MatrixRule& rule, TensorRef& matrix) const;
  absl::Status Inline(const v1::Tensor& tensor, TensorRef& matrix);
  absl::Status Reference(const v1::Tensor& tensor, TensorRef& matrix) const;
  absl::StatusOr<RequestResources*> Resources() const;
  absl::Status Stored(const v1::BufferRange& range, TensorRef& matrix);
  absl::Status StoredOutput(const v1::OutputTarget& target, const OutputShape& shape,
                            OutputRef& output);
  absl::Status StoredPages(const v1::PageTable& pages, int64_t rows, PageTableRef& decoded);
  absl::Status PageFields(const v1::PageTable& pages, int64_t rows, PageTableRef& decoded);

  const DecodeLimits& limits_;
  const RequestKind kind_;
  RequestResources* const resources_;
  int64_t input_bytes_ = 0;
  int64_t output_bytes_ = 0;
  std::vector<std::vector<OutputShape>> ended_steps_;
  std::vector<OutputShape> current_step_;
};

// InvalidArgument FIELD_MISSING.
absl::Status MissingField(absl::string_view field, absl::string_view why);
// The error of a part of the request (a step, a tensor), named as the request names it: `prefix`
// before its field. The lease_id, which every part may need, is the request's own and stays.
absl::Status WithinPart(absl::string_view prefix, const absl::Status& status);
// `reason` unless low <= value <= high.
absl::Status FieldInRange(ErrorReason reason, absl::string_view field, int64_t value, int64_t low,
                          int64_t high);
// SIZE_OVERFLOW unless rows of that stride end below half of what 63 bits hold, in bytes.
absl::Status CheckStrideRoom(int64_t row_stride, int64_t rows, DType dtype);
// Sets `order`, or ENUM_UNKNOWN.
absl::Status DecodeOrder(v1::SelectionOrder order, Order& decoded);
// Sets `block_size`, 0 being the default, or BLOCK_SIZE_INVALID.
absl::Status DecodeBlockSize(int32_t sent, int32_t& block_size);
// Sets `k`, 0 being `fallback` when that is not 0, or K_OUT_OF_RANGE.
absl::Status DecodeK(absl::string_view field, int32_t sent, int32_t fallback, int32_t& k);
// The greatest of the lengths, for routing; 0 when the host cannot see them or none is positive.
int32_t MaxLength(const TensorRef& lengths);

// The operations of steps.proto; `limits` live in the scope.
absl::Status DecodeTopKStep(RequestScope& scope, const v1::TopKStep& step, TopKStep& decoded);
absl::Status DecodeBlockAmaxStep(RequestScope& scope, const v1::BlockAmaxStep& step,
                                 BlockAmaxStep& decoded);
absl::Status DecodeSortBlocksStep(RequestScope& scope, const v1::SortCandidateBlocksStep& step,
                                  SortBlocksStep& decoded);

// The item of a request that is one step, decoded by one of the functions above.
template <typename Decoded, typename Request, typename Message>
absl::StatusOr<WorkItem> DecodeOnlyStep(const Request& request, const DecodeLimits& limits,
                                        RequestResources* resources,
                                        absl::Status (*decode)(RequestScope&, const Message&,
                                                               Decoded&)) {
  if (!request.has_step()) return MissingField("step", "the request is nothing else");
  RequestScope scope(limits, RequestKind::kUnary, resources);
  Decoded step;
  const absl::Status status = decode(scope, request.step(), step);
  if (!status.ok()) return WithinPart("step.", status);
  WorkItem item;
  item.steps.emplace_back(std::move(step));
  return item;
}

// A message field that may be absent, as a pointer.
#define WINNOW_OPTIONAL_FIELD(message, field) \
  ((message).has_##field() ? &(message).field() : nullptr)

}  // namespace winnow::server

#endif  // WINNOW_SERVER_RPC_REQUEST_SCOPE_H_
