// Walks the inputs and outputs of a step, and says how large its outputs are. What checks, costs,
// slicing and staging share, so that each operation's fields are listed once.

#ifndef WINNOW_SERVER_BACKEND_WORK_SHAPE_H_
#define WINNOW_SERVER_BACKEND_WORK_SHAPE_H_

#include <cstdint>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "server/backend/work.h"

namespace winnow::server {

struct OutputShape {
  DType dtype = DType::kUnspecified;
  int64_t rows = 0;
  int64_t columns = 0;

  int64_t elements() const { return rows * columns; }
  int64_t bytes() const { return elements() * SizeOf(dtype); }
};

// Score rows of the step.
int64_t RowsOf(const Step& step);

// Shape of an output that the step has; kUnspecified as dtype when it has none of that name.
OutputShape ShapeOf(const Step& step, OutputName name);

// Elements from one row to the next as the request says.
inline int64_t DeclaredRowStride(const TensorRef& tensor) {
  return tensor.row_stride == 0 ? tensor.columns : tensor.row_stride;
}
inline int64_t DeclaredRowStride(const OutputRef& output, const OutputShape& shape) {
  return output.row_stride == 0 ? shape.columns : output.row_stride;
}

// Elements from one row to the next for whoever computes addresses. One row has no next one, so
// what is declared for it may be anything, also what does not fit once it is in bytes.
inline int64_t RowStride(const TensorRef& tensor) {
  return tensor.rows > 1 ? DeclaredRowStride(tensor) : tensor.columns;
}
inline int64_t RowStride(const OutputRef& output, const OutputShape& shape) {
  return shape.rows > 1 ? DeclaredRowStride(output, shape) : shape.columns;
}

namespace internal {

template <typename T, typename U>
inline constexpr bool kIs = std::is_same_v<std::remove_const_t<T>, U>;

template <typename PagesT, typename Visit>
void VisitPages(PagesT& pages, Visit& visit) {
  visit("page_table.table", pages.table);
  visit("page_table.row_indices", pages.rows);
}

}  // namespace internal

// Calls `visit(field name, TensorRef&)` for each input that the step may have, present or not.
template <typename StepT, typename Visit>
void ForEachInput(StepT& step, Visit visit) {
  std::visit(
      [&](auto& operation) {
        using Operation = std::remove_reference_t<decltype(operation)>;
        if constexpr (internal::kIs<Operation, SortBlocksStep>) {
          visit("blocks", operation.blocks);
        } else {
          visit("scores", operation.scores);
        }
        visit("lengths", operation.lengths);
        if constexpr (internal::kIs<Operation, TopKStep>) {
          visit("row_starts", operation.row_starts);
          visit("index_offsets", operation.index_offsets);
        }
        if constexpr (!internal::kIs<Operation, BlockAmaxStep>) {
          internal::VisitPages(operation.pages, visit);
        }
      },
      step);
}

// Calls `visit(OutputName, OutputRef&)` for each output that the step may have, in the order of
// OutputName.
template <typename StepT, typename Visit>
void ForEachOutput(StepT& step, Visit visit) {
  std::visit(
      [&](auto& operation) {
        using Operation = std::remove_reference_t<decltype(operation)>;
        if constexpr (internal::kIs<Operation, TopKStep>) {
          visit(OutputName::kIndices, operation.indices);
          visit(OutputName::kSlots, operation.slots);
          visit(OutputName::kValues, operation.values);
        } else if constexpr (internal::kIs<Operation, BlockAmaxStep>) {
          visit(OutputName::kKeys, operation.keys);
          visit(OutputName::kBlockCounts, operation.block_counts);
        } else if constexpr (internal::kIs<Operation, SortBlocksStep>) {
          visit(OutputName::kBlocks, operation.blocks_out);
          visit(OutputName::kBlockSlots, operation.block_slots);
          visit(OutputName::kCandidateLengths, operation.candidate_lengths);
        } else {
          visit(OutputName::kIndices, operation.indices);
          visit(OutputName::kSlots, operation.slots);
          visit(OutputName::kBlocks, operation.blocks);
          visit(OutputName::kBlockSlots, operation.block_slots);
          visit(OutputName::kCandidateLengths, operation.candidate_lengths);
        }
      },
      step);
}

// The output of that name; null when the step has none.
const OutputRef* FindOutput(const Step& step, OutputName name);

// The field of a request that places the output: "indices", "out_blocks", ...
absl::string_view FieldOf(const Step& step, OutputName name);

}  // namespace winnow::server

#endif  // WINNOW_SERVER_BACKEND_WORK_SHAPE_H_
