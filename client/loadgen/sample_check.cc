// Whether what a server gave is right.

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/loadgen/sample.h"
#include "winnow/kernels/reference.h"
#include "winnow/kernels/segments.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::stress {
namespace {

absl::Status Wrong(int64_t row, absl::string_view what) {
  return absl::InternalError(absl::StrCat("wrong result in row ", row, ": ", what));
}

bool HasShape(const client::Matrix& matrix, DType dtype, int64_t rows, int64_t columns) {
  return matrix.dtype() == dtype && matrix.rows() == rows && matrix.columns() == columns;
}

// The set of row's results, by the definition of a top-k.
absl::Status CheckSet(const std::vector<float>& scores, absl::Span<const int32_t> indices,
                      int32_t row) {
  std::vector<float> expected = scores;
  const size_t kept = std::min(indices.size(), expected.size());
  std::sort(expected.begin(), expected.end(), std::greater<>());
  std::vector<bool> seen(scores.size());
  std::vector<float> selected;
  for (const int32_t index : indices) {
    if (index == -1) continue;
    if (index < 0 || static_cast<size_t>(index) >= scores.size()) {
      return Wrong(row, "an index outside the row");
    }
    if (seen[index]) return Wrong(row, "an index twice");
    seen[index] = true;
    selected.push_back(scores[index]);
  }
  if (selected.size() != kept) return Wrong(row, "the number of results");
  std::sort(selected.begin(), selected.end(), std::greater<>());
  if (!std::equal(selected.begin(), selected.end(), expected.begin())) {
    return Wrong(row, "a score that is not among the largest");
  }
  return absl::OkStatus();
}

// Slots are the indices, through the row's pages.
absl::Status CheckSlots(const Sample& sample, const client::TopKResult& result, int32_t row) {
  const absl::Span<const int32_t> indices = result.indices.row<int32_t>(row);
  const absl::Span<const int32_t> slots = result.slots.row<int32_t>(row);
  const int64_t page_size = sample.shape.page_size;
  const int32_t* pages = sample.pages->data() + int64_t{row} * sample.pages_columns();
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t expected =
        indices[i] < 0 ? -1 : pages[indices[i] / page_size] * page_size + indices[i] % page_size;
    if (slots[i] != expected) return Wrong(row, "a slot that is not that of its position");
  }
  return absl::OkStatus();
}

// Number by number.
absl::Status Compare(absl::string_view name, const client::Matrix& actual,
                     const std::vector<int32_t>& expected, int32_t rows) {
  const int64_t columns = static_cast<int64_t>(expected.size()) / rows;
  if (!HasShape(actual, DType::kInt32, rows, columns)) {
    return Wrong(0, absl::StrCat("the shape of ", name));
  }
  const absl::Span<const int32_t> values = actual.elements<int32_t>();
  for (size_t i = 0; i < expected.size(); ++i) {
    if (values[i] == expected[i]) continue;
    return Wrong(static_cast<int64_t>(i) / columns,
                 absl::StrCat(name, " has ", values[i], " where the reference has ", expected[i]));
  }
  return absl::OkStatus();
}

PageTransform Transform(const Sample& sample, int32_t page_size) {
  if (sample.pages == nullptr) return {};
  return {.page_table = sample.pages->data(),
          .row_stride = sample.pages_columns(),
          .table_rows = sample.shape.rows,
          .table_columns = sample.pages_columns(),
          .page_size = page_size};
}

absl::Status CheckWithReference(const Sample& sample, const client::TopKResult& result) {
  const Shape& shape = sample.shape;
  std::vector<int32_t> indices(static_cast<size_t>(shape.rows) * static_cast<size_t>(shape.k));
  std::vector<int32_t> slots(sample.pages == nullptr ? 0 : indices.size());
  SegmentReport report;
  const bool consumes = shape.operation == Operation::kConsume;
  const TopKSegment segment{
      .scores = sample.scores->data(),
      .row_stride = shape.columns,
      .rows = shape.rows,
      .columns = shape.columns,
      .lengths = sample.lengths.data(),
      .pages = Transform(sample, consumes ? shape.block_size : shape.page_size),
      .indices = indices.data(),
      .slots = slots.empty() ? nullptr : slots.data(),
      .indices_row_stride = shape.k,
      .slots_row_stride = shape.k,
      .report = &report};
  WINNOW_RETURN_IF_ERROR(
      reference::TopK({.dtype = shape.dtype, .k = shape.k, .deterministic = true}, segment));
  WINNOW_RETURN_IF_ERROR(Compare("indices", result.indices, indices, shape.rows));
  return slots.empty() ? absl::OkStatus() : Compare("slots", result.slots, slots, shape.rows);
}

}  // namespace

absl::Status Sample::Check(const client::TopKResult& result) const {
  if (shape.operation == Operation::kConsume || shape.deterministic) {
    return CheckWithReference(*this, result);
  }
  if (!HasShape(result.indices, DType::kInt32, shape.rows, shape.k) ||
      (pages != nullptr && !HasShape(result.slots, DType::kInt32, shape.rows, shape.k))) {
    return Wrong(0, "the shape");
  }
  for (int32_t row = 0; row < shape.rows; ++row) {
    WINNOW_RETURN_IF_ERROR(CheckSet(Row(row), result.indices.row<int32_t>(row), row));
    if (pages != nullptr) WINNOW_RETURN_IF_ERROR(CheckSlots(*this, result, row));
  }
  return absl::OkStatus();
}

absl::Status Sample::Check(const client::BlockAmaxResult& result) const {
  if (result.keys.dtype() != DType::kFloat32 || result.keys.rows() != shape.rows) {
    return Wrong(0, "the shape");
  }
  for (int32_t row = 0; row < shape.rows; ++row) {
    const std::vector<float> scores_of_row = Row(row);
    const int32_t length = static_cast<int32_t>(scores_of_row.size());
    const int32_t blocks = (length + shape.block_size - 1) / shape.block_size;
    const absl::Span<const float> keys = result.keys.row<float>(row);
    if (static_cast<size_t>(blocks) > keys.size()) return Wrong(row, "too few keys");
    for (int32_t block = 0; block < blocks; ++block) {
      const auto first = scores_of_row.begin() + int64_t{block} * shape.block_size;
      const float largest = block == blocks - 1
                                ? std::numeric_limits<float>::infinity()
                                : *std::max_element(first, first + shape.block_size);
      if (keys[block] != largest) return Wrong(row, "the maximum of a block");
    }
  }
  return absl::OkStatus();
}

absl::Status Sample::Check(const client::PublishCandidatesResult& result) const {
  const size_t rows = static_cast<size_t>(shape.rows);
  std::vector<int32_t> slots(rows * static_cast<size_t>(shape.k));
  std::vector<int32_t> blocks(rows * static_cast<size_t>(shape.k_blocks));
  std::vector<int32_t> block_slots(blocks.size()), candidate_lengths(rows);
  SegmentReport report;
  const PublishSegment segment{.scores = scores->data(),
                               .row_stride = shape.columns,
                               .rows = shape.rows,
                               .columns = shape.columns,
                               .lengths = lengths.data(),
                               .pages = Transform(*this, shape.page_size),
                               .slots = slots.data(),
                               .blocks = blocks.data(),
                               .block_slots = block_slots.data(),
                               .candidate_lengths = candidate_lengths.data(),
                               .slots_row_stride = shape.k,
                               .blocks_row_stride = shape.k_blocks,
                               .block_slots_row_stride = shape.k_blocks,
                               .report = &report};
  WINNOW_RETURN_IF_ERROR(reference::PublishCandidates({.dtype = shape.dtype,
                                                       .k = shape.k,
                                                       .k_blocks = shape.k_blocks,
                                                       .block_size = shape.block_size,
                                                       .deterministic = true},
                                                      segment));
  WINNOW_RETURN_IF_ERROR(Compare("slots", result.slots, slots, shape.rows));
  WINNOW_RETURN_IF_ERROR(Compare("blocks", result.blocks, blocks, shape.rows));
  WINNOW_RETURN_IF_ERROR(Compare("block_slots", result.block_slots, block_slots, shape.rows));
  return Compare("candidate_lengths", result.candidate_lengths, candidate_lengths, shape.rows);
}

}  // namespace winnow::stress
