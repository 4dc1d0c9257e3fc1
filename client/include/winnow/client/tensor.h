// What a request reads and where its outputs go. Nothing here owns memory; results.h holds what
// does. Next: requests.h.

#ifndef WINNOW_CLIENT_TENSOR_H_
#define WINNOW_CLIENT_TENSOR_H_

#include <cstdint>
#include <variant>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "winnow/kernels/dtype.h"

namespace winnow::client {

// A row-major matrix in the caller's memory. It is read during the call that takes it, before that
// call returns (also before a future-returning call returns), and never written. A vector is a
// matrix of one column. The base needs the alignment of one byte only.
struct MatrixView {
  DType dtype = DType::kUnspecified;
  int64_t rows = 0;
  int64_t columns = 0;     // elements used in a row
  int64_t row_stride = 0;  // elements from one row to the next, at least columns; 0 means columns
  const void* data = nullptr;  // (rows - 1) * row_stride + columns elements, little-endian
};

// Views of the usual memory. `row_stride` in elements; 0 means `columns`.
MatrixView Float32Matrix(const float* data, int64_t rows, int64_t columns, int64_t row_stride = 0);
MatrixView Int32Matrix(const int32_t* data, int64_t rows, int64_t columns, int64_t row_stride = 0);
// `bits` are the upper 16 bits of the float32 of each value.
MatrixView Bfloat16Matrix(const uint16_t* bits, int64_t rows, int64_t columns,
                          int64_t row_stride = 0);
// A vector as an int32 matrix of one column: lengths, row starts, offsets.
MatrixView Int32Column(absl::Span<const int32_t> values);

// The outputs of the operations; numbers are those of winnow.v1.OutputName.
enum class OutputName : int32_t {
  kUnspecified = 0,
  kIndices = 1,           // TopK, PublishCandidates, ConsumeCandidates: int32 [rows, k]
  kSlots = 2,             // TopK, PublishCandidates, ConsumeCandidates: int32 [rows, k]
  kValues = 3,            // TopK, ConsumeCandidates: the scores' type [rows, k]
  kKeys = 4,              // BlockAmax: float32 [rows, key columns]
  kBlockCounts = 5,       // BlockAmax: int32 [rows, 1]
  kBlocks = 6,            // SortCandidateBlocks, PublishCandidates: int32 [rows, k]
  kBlockSlots = 7,        // SortCandidateBlocks, PublishCandidates: int32 [rows, k]
  kCandidateLengths = 8,  // SortCandidateBlocks, PublishCandidates: int32 [rows, 1]
};

// "indices", "candidate_lengths" and so on.
absl::string_view Name(OutputName name);

// An output of an earlier step of the same Execute request; see execute.h for who makes one.
struct StepOutput {
  int32_t step_index = 0;
  OutputName output = OutputName::kUnspecified;
  DType dtype = DType::kUnspecified;
  int64_t rows = 0;
  int64_t columns = 0;
};

// A matrix that a request reads: the caller's memory, or an earlier step's output. Default: absent.
// Conversions are implicit, so that a request takes either.
class TensorRef {
 public:
  TensorRef() = default;
  TensorRef(const MatrixView& view) : source_(view) {}                // NOLINT(runtime/explicit)
  TensorRef(const StepOutput& step_output) : source_(step_output) {}  // NOLINT(runtime/explicit)

  bool is_set() const { return !std::holds_alternative<std::monostate>(source_); }
  // Null when the tensor is something else.
  const MatrixView* view() const { return std::get_if<MatrixView>(&source_); }
  const StepOutput* step_output() const { return std::get_if<StepOutput>(&source_); }

  // Declared type and shape; kUnspecified and 0 when absent.
  DType dtype() const;
  int64_t rows() const;
  int64_t columns() const;

 private:
  std::variant<std::monostate, MatrixView, StepOutput> source_;
};

// Where an output goes.
enum class Placement : int32_t {
  kNone = 0,    // not wanted
  kInline = 1,  // comes with the result
  kKeep = 2,    // stays with the server, for later steps of the same Execute request only
};

// Maps positions to slots: `table[row, position / page_size] * page_size + position % page_size`.
struct PageTableView {
  TensorRef table;         // int32 [table rows, pages]
  int32_t page_size = 0;   // positions in a page; a power of two, 1 to kMaxPageSize
  int32_t pool_pages = 0;  // ids must be below it; 0: not declared
  TensorRef row_indices;   // int32 [rows, 1], the table row of each score row; absent: the same row
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_TENSOR_H_
