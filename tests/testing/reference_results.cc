#include "tests/testing/reference_results.h"

#include <cstdlib>

#include "winnow/kernels/reference.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::testing {
namespace {

template <typename T>
const T* DataOf(const v1::Tensor& tensor) {
  return reinterpret_cast<const T*>(tensor.inline_data().data());
}

const int32_t* VectorOf(bool present, const v1::Tensor& tensor) {
  return present ? DataOf<int32_t>(tensor) : nullptr;
}

int64_t StrideOf(const v1::Tensor& tensor) {
  return tensor.row_stride() == 0 ? tensor.column_count() : tensor.row_stride();
}

PageTransform PagesOf(const v1::PageTable& pages) {
  return {.page_table = DataOf<int32_t>(pages.table()),
          .page_table_rows = VectorOf(pages.has_row_indices(), pages.row_indices()),
          .row_stride = StrideOf(pages.table()),
          .table_rows = static_cast<int32_t>(pages.table().row_count()),
          .table_columns = static_cast<int32_t>(pages.table().column_count()),
          .page_size = pages.page_size(),
          .pool_pages = pages.pool_page_count()};
}

// Makes room for outputs in the order in which they are asked for.
class OutputBuilder {
 public:
  explicit OutputBuilder(int64_t rows) : rows_(rows) { outputs_.reserve(8); }

  // Null when the output is not wanted.
  template <typename T>
  T* Add(const v1::OutputTarget& target, v1::OutputName name, v1::DataType data_type,
         int64_t columns) {
    if (target.placement() != v1::OUTPUT_PLACEMENT_INLINE) return nullptr;
    v1::NamedTensor& output = outputs_.emplace_back();
    output.set_name(name);
    v1::Tensor& tensor = *output.mutable_tensor();
    tensor.set_data_type(data_type);
    tensor.set_row_count(rows_);
    tensor.set_column_count(columns);
    const int64_t element_bytes = data_type == v1::DATA_TYPE_BFLOAT16 ? 2 : 4;
    tensor.mutable_inline_data()->resize(static_cast<size_t>(rows_ * columns * element_bytes));
    return reinterpret_cast<T*>(tensor.mutable_inline_data()->data());
  }

  int32_t* Int32s(const v1::OutputTarget& target, v1::OutputName name, int64_t columns) {
    return Add<int32_t>(target, name, v1::DATA_TYPE_INT32, columns);
  }

  Outputs Take() { return std::move(outputs_); }

 private:
  const int64_t rows_;
  Outputs outputs_;
};

Order OrderOf(v1::SelectionOrder order) {
  if (order == v1::SELECTION_ORDER_POSITION) return Order::kPosition;
  return order == v1::SELECTION_ORDER_SCORE ? Order::kScore : Order::kAny;
}

DType DTypeOf(const v1::Tensor& tensor) { return static_cast<DType>(tensor.data_type()); }

}  // namespace

absl::StatusOr<Outputs> ReferenceOf(const v1::TopKStep& step) {
  const int64_t rows = step.scores().row_count();
  const int32_t k = step.k();
  OutputBuilder outputs(rows);
  SegmentReport report;
  TopKSegment segment{.scores = DataOf<void>(step.scores()),
                      .row_stride = StrideOf(step.scores()),
                      .rows = static_cast<int32_t>(rows),
                      .columns = static_cast<int32_t>(step.scores().column_count()),
                      .lengths = DataOf<int32_t>(step.lengths()),
                      .row_starts = VectorOf(step.has_row_starts(), step.row_starts()),
                      .index_offsets = VectorOf(step.has_index_offsets(), step.index_offsets())};
  if (step.has_page_table()) segment.pages = PagesOf(step.page_table());
  segment.indices = outputs.Int32s(step.indices(), v1::OUTPUT_NAME_INDICES, k);
  segment.slots = outputs.Int32s(step.slots(), v1::OUTPUT_NAME_SLOTS, k);
  segment.values =
      outputs.Add<void>(step.values(), v1::OUTPUT_NAME_VALUES, step.scores().data_type(), k);
  segment.indices_row_stride = segment.slots_row_stride = segment.values_row_stride = k;
  segment.report = &report;
  if (rows > 0) {
    WINNOW_RETURN_IF_ERROR(reference::TopK({.dtype = DTypeOf(step.scores()),
                                            .k = k,
                                            .order = OrderOf(step.order()),
                                            .deterministic = true},
                                           segment));
    WINNOW_RETURN_IF_ERROR(StatusFromFault(report.fault));
  }
  return outputs.Take();
}

absl::StatusOr<Outputs> ReferenceOf(const v1::BlockAmaxStep& step) {
  const int64_t rows = step.scores().row_count();
  const int32_t block_size = step.block_size() == 0 ? kDefaultBlockSize : step.block_size();
  const int32_t key_columns =
      step.key_column_count() != 0
          ? step.key_column_count()
          : static_cast<int32_t>((step.scores().column_count() + block_size - 1) / block_size);
  OutputBuilder outputs(rows);
  SegmentReport report;
  BlockAmaxSegment segment{.scores = DataOf<void>(step.scores()),
                           .row_stride = StrideOf(step.scores()),
                           .rows = static_cast<int32_t>(rows),
                           .columns = static_cast<int32_t>(step.scores().column_count()),
                           .lengths = DataOf<int32_t>(step.lengths())};
  segment.keys =
      outputs.Add<float>(step.keys(), v1::OUTPUT_NAME_KEYS, v1::DATA_TYPE_FLOAT32, key_columns);
  segment.keys_row_stride = segment.keys_columns = key_columns;
  segment.block_counts = outputs.Int32s(step.block_counts(), v1::OUTPUT_NAME_BLOCK_COUNTS, 1);
  segment.report = &report;
  WINNOW_RETURN_IF_ERROR(reference::BlockAmax({.dtype = DTypeOf(step.scores()),
                                               .block_size = block_size,
                                               .skip_at_most = step.skip_at_most()},
                                              segment));
  WINNOW_RETURN_IF_ERROR(StatusFromFault(report.fault));
  return outputs.Take();
}

absl::StatusOr<Outputs> ReferenceOf(const v1::SortCandidateBlocksStep& step) {
  const auto width = static_cast<int32_t>(step.blocks().column_count());
  OutputBuilder outputs(step.blocks().row_count());
  SegmentReport report;
  SortBlocksSegment segment{.blocks = DataOf<int32_t>(step.blocks()),
                            .blocks_row_stride = StrideOf(step.blocks()),
                            .rows = static_cast<int32_t>(step.blocks().row_count()),
                            .lengths = DataOf<int32_t>(step.lengths())};
  if (step.has_page_table()) segment.pages = PagesOf(step.page_table());
  segment.out_blocks = outputs.Int32s(step.out_blocks(), v1::OUTPUT_NAME_BLOCKS, width);
  segment.block_slots = outputs.Int32s(step.block_slots(), v1::OUTPUT_NAME_BLOCK_SLOTS, width);
  segment.candidate_lengths =
      outputs.Int32s(step.candidate_lengths(), v1::OUTPUT_NAME_CANDIDATE_LENGTHS, 1);
  segment.out_blocks_row_stride = segment.block_slots_row_stride = width;
  segment.report = &report;
  WINNOW_RETURN_IF_ERROR(reference::SortCandidateBlocks(
      {.width = width,
       .block_size = step.block_size() == 0 ? kDefaultBlockSize : step.block_size()},
      segment));
  WINNOW_RETURN_IF_ERROR(StatusFromFault(report.fault));
  return outputs.Take();
}

absl::StatusOr<Outputs> ReferenceOf(const v1::PublishCandidatesRequest& request) {
  const PublishParams params{
      .dtype = DTypeOf(request.scores()),
      .k = request.k() == 0 ? 512 : request.k(),
      .k_blocks = request.k_blocks() == 0 ? 2048 : request.k_blocks(),
      .block_size = request.block_size() == 0 ? kDefaultBlockSize : request.block_size(),
      .order = OrderOf(request.order()),
      .deterministic = true};
  OutputBuilder outputs(request.scores().row_count());
  SegmentReport report;
  PublishSegment segment{.scores = DataOf<void>(request.scores()),
                         .row_stride = StrideOf(request.scores()),
                         .rows = static_cast<int32_t>(request.scores().row_count()),
                         .columns = static_cast<int32_t>(request.scores().column_count()),
                         .lengths = DataOf<int32_t>(request.lengths())};
  if (request.has_page_table()) segment.pages = PagesOf(request.page_table());
  segment.indices = outputs.Int32s(request.indices(), v1::OUTPUT_NAME_INDICES, params.k);
  segment.slots = outputs.Int32s(request.slots(), v1::OUTPUT_NAME_SLOTS, params.k);
  segment.blocks = outputs.Int32s(request.blocks(), v1::OUTPUT_NAME_BLOCKS, params.k_blocks);
  segment.block_slots =
      outputs.Int32s(request.block_slots(), v1::OUTPUT_NAME_BLOCK_SLOTS, params.k_blocks);
  segment.candidate_lengths =
      outputs.Int32s(request.candidate_lengths(), v1::OUTPUT_NAME_CANDIDATE_LENGTHS, 1);
  segment.slots_row_stride = segment.indices_row_stride = params.k;
  segment.blocks_row_stride = segment.block_slots_row_stride = params.k_blocks;
  segment.report = &report;
  WINNOW_RETURN_IF_ERROR(reference::PublishCandidates(params, segment));
  WINNOW_RETURN_IF_ERROR(StatusFromFault(report.fault));
  return outputs.Take();
}

absl::StatusOr<Outputs> ReferenceOf(const v1::ConsumeCandidatesRequest& request) {
  v1::TopKStep step;
  *step.mutable_scores() = request.scores();
  *step.mutable_lengths() = request.candidate_lengths();
  step.set_k(request.k() == 0 ? 512 : request.k());
  step.set_order(request.order());
  *step.mutable_indices() = request.indices();
  *step.mutable_slots() = request.slots();
  *step.mutable_values() = request.values();
  *step.mutable_page_table()->mutable_table() = request.block_slots();
  step.mutable_page_table()->set_page_size(request.block_size() == 0 ? kDefaultBlockSize
                                                                     : request.block_size());
  return ReferenceOf(step);
}

const v1::Tensor& FindOutput(const google::protobuf::RepeatedPtrField<v1::NamedTensor>& outputs,
                             v1::OutputName name) {
  for (const v1::NamedTensor& output : outputs) {
    if (output.name() == name) return output.tensor();
  }
  std::abort();
}

}  // namespace winnow::testing
