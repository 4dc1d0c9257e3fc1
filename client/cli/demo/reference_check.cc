#include "client/cli/demo/reference_check.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "winnow/kernels/operations.h"
#include "winnow/kernels/reference.h"
#include "winnow/kernels/segments.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

std::string Difference(absl::string_view name, const client::Matrix& actual,
                       const std::vector<int32_t>& expected) {
  if (actual.dtype() != DType::kInt32) return absl::StrCat(name, " is missing");
  const absl::Span<const int32_t> values = actual.elements<int32_t>();
  if (values.size() != expected.size()) {
    return absl::StrCat(name, " has ", values.size(), " numbers, the reference ", expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (values[i] == expected[i]) continue;
    return absl::StrCat(name, "[", i, "] is ", values[i], ", the reference has ", expected[i]);
  }
  return "";
}

using Comparison =
    std::pair<absl::string_view, std::pair<const client::Matrix*, const std::vector<int32_t>*>>;

std::string FirstDifference(const std::vector<Comparison>& comparisons) {
  for (const auto& [name, pair] : comparisons) {
    std::string difference = Difference(name, *pair.first, *pair.second);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace

absl::StatusOr<std::string> DifferenceOfPublish(const DemoRow& row,
                                                const std::vector<int32_t>& pages,
                                                const TwoLevelParameters& parameters,
                                                const client::PublishCandidatesResult& result) {
  std::vector<int32_t> slots(static_cast<size_t>(parameters.k));
  std::vector<int32_t> indices(slots.size());
  std::vector<int32_t> blocks(static_cast<size_t>(parameters.k_blocks));
  std::vector<int32_t> block_slots(blocks.size());
  std::vector<int32_t> candidate_lengths(1);
  SegmentReport report;
  const PublishSegment segment{.scores = row.bytes.data(),
                               .row_stride = row.length,
                               .rows = 1,
                               .columns = row.length,
                               .lengths = &row.length,
                               .pages = {.page_table = pages.data(),
                                         .row_stride = static_cast<int64_t>(pages.size()),
                                         .table_rows = 1,
                                         .table_columns = static_cast<int32_t>(pages.size()),
                                         .page_size = parameters.page_size,
                                         .pool_pages = parameters.pool_pages},
                               .slots = slots.data(),
                               .indices = indices.data(),
                               .blocks = blocks.data(),
                               .block_slots = block_slots.data(),
                               .candidate_lengths = candidate_lengths.data(),
                               .slots_row_stride = parameters.k,
                               .indices_row_stride = parameters.k,
                               .blocks_row_stride = parameters.k_blocks,
                               .block_slots_row_stride = parameters.k_blocks,
                               .report = &report};
  WINNOW_RETURN_IF_ERROR(reference::PublishCandidates({.dtype = row.dtype,
                                                       .k = parameters.k,
                                                       .k_blocks = parameters.k_blocks,
                                                       .block_size = parameters.block_size,
                                                       .deterministic = true},
                                                      segment));
  WINNOW_RETURN_IF_ERROR(StatusFromFault(report.fault));
  return FirstDifference({{"indices", {&result.indices, &indices}},
                          {"slots", {&result.slots, &slots}},
                          {"blocks", {&result.blocks, &blocks}},
                          {"block_slots", {&result.block_slots, &block_slots}},
                          {"candidate_lengths", {&result.candidate_lengths, &candidate_lengths}}});
}

absl::StatusOr<std::string> DifferenceOfConsume(const std::vector<uint16_t>& candidates,
                                                const client::PublishCandidatesResult& published,
                                                const TwoLevelParameters& parameters,
                                                const client::ConsumeCandidatesResult& result) {
  const int32_t length = static_cast<int32_t>(candidates.size());
  std::vector<int32_t> slots(static_cast<size_t>(parameters.k));
  std::vector<int32_t> indices(slots.size());
  SegmentReport report;
  const TopKSegment segment{
      .scores = candidates.data(),
      .row_stride = length,
      .rows = 1,
      .columns = length,
      .lengths = &length,
      .pages = {.page_table = published.block_slots.elements<int32_t>().data(),
                .row_stride = parameters.k_blocks,
                .table_rows = 1,
                .table_columns = parameters.k_blocks,
                .page_size = parameters.block_size},
      .indices = indices.data(),
      .slots = slots.data(),
      .indices_row_stride = parameters.k,
      .slots_row_stride = parameters.k,
      .report = &report};
  WINNOW_RETURN_IF_ERROR(reference::TopK(
      {.dtype = DType::kBfloat16, .k = parameters.k, .deterministic = true}, segment));
  WINNOW_RETURN_IF_ERROR(StatusFromFault(report.fault));
  return FirstDifference({{"consumed indices", {&result.indices, &indices}},
                          {"consumed slots", {&result.slots, &slots}}});
}

}  // namespace winnow::cli
