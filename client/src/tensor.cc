#include "winnow/client/tensor.h"

namespace winnow::client {

MatrixView Float32Matrix(const float* data, int64_t rows, int64_t columns, int64_t row_stride) {
  return {DType::kFloat32, rows, columns, row_stride, data};
}

MatrixView Int32Matrix(const int32_t* data, int64_t rows, int64_t columns, int64_t row_stride) {
  return {DType::kInt32, rows, columns, row_stride, data};
}

MatrixView Bfloat16Matrix(const uint16_t* bits, int64_t rows, int64_t columns, int64_t row_stride) {
  return {DType::kBfloat16, rows, columns, row_stride, bits};
}

MatrixView Int32Column(absl::Span<const int32_t> values) {
  return {DType::kInt32, static_cast<int64_t>(values.size()), 1, 0, values.data()};
}

absl::string_view Name(OutputName name) {
  switch (name) {
    case OutputName::kUnspecified:
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
      return "blocks";
    case OutputName::kBlockSlots:
      return "block_slots";
    case OutputName::kCandidateLengths:
      return "candidate_lengths";
  }
  return "unspecified";
}

DType TensorRef::dtype() const {
  if (view() != nullptr) return view()->dtype;
  if (buffer() != nullptr) return buffer()->dtype;
  return step_output() != nullptr ? step_output()->dtype : DType::kUnspecified;
}

int64_t TensorRef::rows() const {
  if (view() != nullptr) return view()->rows;
  if (buffer() != nullptr) return buffer()->rows;
  return step_output() != nullptr ? step_output()->rows : 0;
}

int64_t TensorRef::columns() const {
  if (view() != nullptr) return view()->columns;
  if (buffer() != nullptr) return buffer()->columns;
  return step_output() != nullptr ? step_output()->columns : 0;
}

}  // namespace winnow::client
