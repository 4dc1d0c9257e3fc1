#include "client/cli/demo/two_level.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/demo/reference_check.h"
#include "winnow/kernels/limits.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::cli {
namespace {

// Distinct pages in random order. Not std::shuffle, which differs between standard libraries.
absl::StatusOr<std::vector<int32_t>> DrawPages(int64_t length, const TwoLevelParameters& parameters,
                                               std::mt19937_64& random) {
  const int64_t needed = (length + parameters.page_size - 1) / parameters.page_size;
  if (needed > parameters.pool_pages) {
    return absl::InvalidArgumentError(absl::StrCat("a row of ", length, " scores needs ", needed,
                                                   " pages; the demo has ", parameters.pool_pages));
  }
  std::vector<int32_t> pages(static_cast<size_t>(parameters.pool_pages));
  std::iota(pages.begin(), pages.end(), 0);
  for (size_t i = 0; i < static_cast<size_t>(needed); ++i) {
    std::swap(pages[i], pages[i + random() % (pages.size() - i)]);
  }
  pages.resize(static_cast<size_t>(std::max<int64_t>(needed, 1)));
  return pages;
}

// The later layer's scores where a cache has them: by slot.
std::vector<uint16_t> FillCache(int64_t length, absl::Span<const uint16_t> later_bits,
                                const std::vector<int32_t>& pages,
                                const TwoLevelParameters& parameters) {
  std::vector<uint16_t> cache(
      static_cast<size_t>(int64_t{parameters.pool_pages} * parameters.page_size));
  for (int64_t position = 0; position < length; ++position) {
    const int64_t page = pages[static_cast<size_t>(position / parameters.page_size)];
    cache[static_cast<size_t>(page * parameters.page_size + position % parameters.page_size)] =
        later_bits[static_cast<size_t>(position) % later_bits.size()];
  }
  return cache;
}

// What a later layer does before it consumes: scores for the published blocks, in their order. A
// slot outside the cache, which only a broken server gives, scores 0 and shows in the comparison.
std::vector<uint16_t> GatherCandidates(const std::vector<uint16_t>& cache,
                                       absl::Span<const int32_t> block_slots,
                                       int64_t candidate_length, int32_t block_size) {
  std::vector<uint16_t> candidates(static_cast<size_t>(candidate_length));
  for (int64_t j = 0; j < candidate_length; ++j) {
    const int64_t slot =
        int64_t{block_slots[static_cast<size_t>(j / block_size)]} * block_size + j % block_size;
    if (slot >= 0 && slot < static_cast<int64_t>(cache.size())) {
      candidates[static_cast<size_t>(j)] = cache[static_cast<size_t>(slot)];
    }
  }
  return candidates;
}

std::vector<int32_t> WithoutPadding(absl::Span<const int32_t> values, int32_t padding) {
  std::vector<int32_t> kept;
  std::copy_if(values.begin(), values.end(), std::back_inserter(kept),
               [padding](int32_t value) { return value != padding; });
  return kept;
}

Boundary FindBoundary(absl::Span<const int32_t> kept, int64_t length,
                      const std::function<float(int64_t)>& score) {
  if (kept.empty() || static_cast<int64_t>(kept.size()) == length) return {};
  float lowest = score(kept[0]);
  for (int32_t position : kept) lowest = std::min(lowest, score(position));
  Boundary boundary;
  for (int32_t position : kept) boundary.kept += score(position) == lowest;
  for (int64_t position = 0; position < length; ++position) {
    boundary.equal += score(position) == lowest;
  }
  return boundary;
}

absl::StatusOr<client::PublishCandidatesResult> Publish(const client::Client& client,
                                                        const DemoRow& row,
                                                        const std::vector<int32_t>& pages,
                                                        const TwoLevelParameters& parameters) {
  return client.PublishCandidates(
      {.scores =
           client::MatrixView{
               .dtype = row.dtype, .rows = 1, .columns = row.length, .data = row.bytes.data()},
       .lengths = client::Int32Column(absl::MakeConstSpan(&row.length, 1)),
       .page_table = client::PageTableView{.table = client::Int32Matrix(
                                               pages.data(), 1, static_cast<int64_t>(pages.size())),
                                           .page_size = parameters.page_size,
                                           .pool_pages = parameters.pool_pages},
       .k = parameters.k,
       .k_blocks = parameters.k_blocks,
       .block_size = parameters.block_size,
       .deterministic = true,
       .indices = client::Placement::kInline});
}

absl::StatusOr<client::ConsumeCandidatesResult> Consume(
    const client::Client& client, const std::vector<uint16_t>& candidates,
    const client::PublishCandidatesResult& published, const TwoLevelParameters& parameters) {
  return client.ConsumeCandidates(
      {.scores =
           client::Bfloat16Matrix(candidates.data(), 1, static_cast<int64_t>(candidates.size())),
       .candidate_lengths = published.candidate_lengths,
       .block_slots = published.block_slots,
       .k = parameters.k,
       .block_size = parameters.block_size,
       .deterministic = true,
       .indices = client::Placement::kInline});
}

// Columns of the candidates as positions of the row; what lies outside the row is left out.
std::vector<int32_t> PositionsOf(const std::vector<int32_t>& columns,
                                 const std::vector<int32_t>& blocks, int32_t block_size,
                                 int64_t length) {
  std::vector<int32_t> positions;
  for (int32_t column : columns) {
    const size_t block = static_cast<size_t>(column / block_size);
    if (block >= blocks.size()) continue;
    // Ids are not judged yet, so the product may be anything.
    const int64_t position = int64_t{blocks[block]} * block_size + column % block_size;
    if (position >= 0 && position < length) positions.push_back(static_cast<int32_t>(position));
  }
  return positions;
}

absl::Status CheckOutput(absl::string_view name, const client::Matrix& matrix, int64_t columns) {
  if (matrix.dtype() == DType::kInt32 && matrix.rows() == 1 && matrix.columns() == columns) {
    return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat("the server gave ", name, " of another shape than asked"));
}

// What the demo computes with, before it does; the numbers are judged later.
absl::Status CheckPublished(const client::PublishCandidatesResult& result,
                            const TwoLevelParameters& parameters) {
  WINNOW_RETURN_IF_ERROR(CheckOutput("indices", result.indices, parameters.k));
  WINNOW_RETURN_IF_ERROR(CheckOutput("blocks", result.blocks, parameters.k_blocks));
  WINNOW_RETURN_IF_ERROR(CheckOutput("block_slots", result.block_slots, parameters.k_blocks));
  WINNOW_RETURN_IF_ERROR(CheckOutput("candidate_lengths", result.candidate_lengths, 1));
  const int64_t length = result.candidate_lengths.elements<int32_t>()[0];
  if (length >= 0 && length <= int64_t{parameters.k_blocks} * parameters.block_size) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("the server gave a candidate length of ", length));
}

}  // namespace

absl::StatusOr<TwoLevelResult> RunTwoLevel(const client::Client& client, const DemoRow& row,
                                           absl::Span<const uint16_t> later_bits,
                                           const TwoLevelParameters& parameters,
                                           std::mt19937_64& random) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<int32_t> pages,
                          DrawPages(row.length, parameters, random));
  WINNOW_ASSIGN_OR_RETURN(const client::PublishCandidatesResult published,
                          Publish(client, row, pages, parameters));
  WINNOW_RETURN_IF_ERROR(CheckPublished(published, parameters));
  TwoLevelResult result;
  result.tokens = WithoutPadding(published.indices.elements<int32_t>(), kPaddingIndex);
  result.blocks = WithoutPadding(published.blocks.elements<int32_t>(), kPaddingBlock);
  result.candidate_length = published.candidate_lengths.elements<int32_t>()[0];
  const std::vector<uint16_t> candidates = GatherCandidates(
      FillCache(row.length, later_bits, pages, parameters),
      published.block_slots.elements<int32_t>(), result.candidate_length, parameters.block_size);
  WINNOW_ASSIGN_OR_RETURN(const client::ConsumeCandidatesResult consumed,
                          Consume(client, candidates, published, parameters));
  WINNOW_RETURN_IF_ERROR(CheckOutput("indices", consumed.indices, parameters.k));
  const std::vector<int32_t> columns =
      WithoutPadding(consumed.indices.elements<int32_t>(), kPaddingIndex);
  result.later = PositionsOf(columns, result.blocks, parameters.block_size, row.length);
  result.publish_time = published.timing.total;
  result.consume_time = consumed.timing.total;
  WINNOW_ASSIGN_OR_RETURN(result.difference,
                          DifferenceOfPublish(row, pages, parameters, published));
  if (!result.difference.empty()) return result;
  WINNOW_ASSIGN_OR_RETURN(result.difference,
                          DifferenceOfConsume(candidates, published, parameters, consumed));
  if (!result.difference.empty()) return result;
  // Only now: positions are known to lie in the row.
  result.token_boundary = FindBoundary(result.tokens, row.length,
                                       [&](int64_t position) { return row.Score(position); });
  result.later_boundary = FindBoundary(columns, result.candidate_length, [&](int64_t column) {
    return FloatOfBfloat16(candidates[static_cast<size_t>(column)]);
  });
  return result;
}

}  // namespace winnow::cli
