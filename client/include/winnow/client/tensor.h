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

// Names a resource of a lease on this side of the connection: it stays the same when the lease
// moves to another server process. A plain value that keeps nothing alive; Buffer, PageTable and
// Plan give theirs.
struct ResourceRef {
  int64_t lease = 0;   // number of the lease in this process, from 1; 0: no resource
  int64_t number = 0;  // number of the resource in its lease, from 1; never used again

  bool is_set() const { return lease != 0; }
  friend bool operator==(const ResourceRef&, const ResourceRef&) = default;
};

// A matrix in a buffer of a lease; Buffer::AsMatrix makes one.
struct BufferMatrix {
  ResourceRef buffer;
  DType dtype = DType::kUnspecified;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;    // elements from one row to the next; 0 means columns
  int64_t offset_bytes = 0;  // of the first element, a multiple of the element's size
};

// A matrix that a request reads: the caller's memory, an earlier step's output, or a range of a
// buffer. Default: absent. Conversions are implicit, so that a request takes any. Buffers are for
// calls made through the client of their lease (Lease::client); any other call with them fails with
// InvalidArgument (FIELD_MISSING).
class TensorRef {
 public:
  TensorRef() = default;
  TensorRef(const MatrixView& view) : source_(view) {}                // NOLINT(runtime/explicit)
  TensorRef(const StepOutput& step_output) : source_(step_output) {}  // NOLINT(runtime/explicit)
  TensorRef(const BufferMatrix& buffer) : source_(buffer) {}          // NOLINT(runtime/explicit)

  bool is_set() const { return !std::holds_alternative<std::monostate>(source_); }
  // Null when the tensor is something else.
  const MatrixView* view() const { return std::get_if<MatrixView>(&source_); }
  const StepOutput* step_output() const { return std::get_if<StepOutput>(&source_); }
  const BufferMatrix* buffer() const { return std::get_if<BufferMatrix>(&source_); }

  // Declared type and shape; kUnspecified and 0 when absent.
  DType dtype() const;
  int64_t rows() const;
  int64_t columns() const;

 private:
  std::variant<std::monostate, MatrixView, StepOutput, BufferMatrix> source_;
};

// Where an output goes.
enum class Placement : int32_t {
  kNone = 0,    // not wanted
  kInline = 1,  // comes with the result
  kKeep = 2,    // stays with the server, for later steps of the same Execute request only
  kBuffer = 3,  // is written to a buffer of the lease; see BufferOutput
};

// A place in a buffer; Buffer::AsOutput makes one. It must not overlap what the same request reads
// or writes elsewhere.
struct BufferOutput {
  ResourceRef buffer;
  int64_t offset_bytes = 0;  // a multiple of the element's size
  int64_t row_stride = 0;    // elements from one row to the next; 0 means the output's columns
};

// Where one output of a request goes. Conversions are implicit, so that a request takes either.
class Output {
 public:
  Output() = default;
  // `placement` is not kBuffer.
  Output(Placement placement) : placement_(placement) {}  // NOLINT(runtime/explicit)
  Output(const BufferOutput& buffer)                      // NOLINT(runtime/explicit)
      : placement_(Placement::kBuffer), buffer_(buffer) {}

  Placement placement() const { return placement_; }
  // Null unless the placement is kBuffer.
  const BufferOutput* buffer() const {
    return placement_ == Placement::kBuffer ? &buffer_ : nullptr;
  }

 private:
  Placement placement_ = Placement::kNone;
  BufferOutput buffer_;
};

// Maps positions to slots: `table[row, position / page_size] * page_size + position % page_size`.
// Either `table` and its sizes, or `resource`; PageTable::View makes one of the second kind.
struct PageTableView {
  TensorRef table;         // int32 [table rows, pages]
  int32_t page_size = 0;   // positions in a page; a power of two, 1 to kMaxPageSize
  int32_t pool_pages = 0;  // ids must be below it; 0: not declared
  TensorRef row_indices;   // int32 [rows, 1], the table row of each score row; absent: the same row
  ResourceRef resource;    // a page table of the lease; the request sees one version of it
};

}  // namespace winnow::client

#endif  // WINNOW_CLIENT_TENSOR_H_
