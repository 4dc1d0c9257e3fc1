#include "tests/contract/block_requests.h"

#include <algorithm>

#include "kernels/cpu/row_rules.h"

namespace winnow::contract {
namespace {

int64_t PlaceLengths(const std::vector<int32_t>& lengths,
                     const std::vector<std::vector<float>>& windows, MemoryImage& image) {
  return image.Put(lengths.empty() ? SizesOf(windows) : lengths);
}

// Offset of one number a row, which the device writes; -1 when not wanted.
int64_t PlaceRowNumbers(bool wanted, int32_t rows, MemoryImage& image) {
  return wanted ? image.Reserve(int64_t{rows} * 4) : -1;
}

int64_t PlaceReport(MemoryImage& image) { return image.Put(std::vector<SegmentReport>(1)); }

}  // namespace

std::vector<int32_t> SizesOf(const std::vector<std::vector<float>>& windows) {
  std::vector<int32_t> sizes;
  for (const auto& window : windows) sizes.push_back(static_cast<int32_t>(window.size()));
  return sizes;
}

BlockAmaxLayout::BlockAmaxLayout(const BlockAmaxParams& params, const BlockAmaxRequest& request,
                                 MemoryImage& image)
    : rows(static_cast<int32_t>(request.windows.size())) {
  scores = PlaceScores(params.dtype, request.windows, {}, request.columns, request.stride_padding,
                       request.misaligned_elements, image);
  lengths = PlaceLengths(request.lengths, request.windows, image);
  const int32_t columns = request.keys_columns > 0
                              ? request.keys_columns
                              : cpu::BlockCount(scores.columns, params.block_size);
  keys = PlacedOutput::Place(true, rows, columns, request.keys_padding, 4, image);
  block_counts = PlaceRowNumbers(request.wants_block_counts, rows, image);
  report = PlaceReport(image);
}

BlockAmaxSegment BlockAmaxLayout::At(std::byte* base) const {
  BlockAmaxSegment segment;
  segment.scores = base + scores.offset;
  segment.row_stride = scores.row_stride;
  segment.rows = rows;
  segment.columns = scores.columns;
  segment.lengths = Pointer<int32_t>(base, lengths);
  segment.keys = Pointer<float>(base, keys.offset);
  segment.keys_row_stride = keys.row_stride;
  segment.keys_columns = static_cast<int32_t>(keys.columns);
  segment.block_counts = Pointer<int32_t>(base, block_counts);
  segment.report = Pointer<SegmentReport>(base, report);
  return segment;
}

SortBlocksLayout::SortBlocksLayout(const SortBlocksParams& params, const SortBlocksRequest& request,
                                   MemoryImage& image)
    : rows(static_cast<int32_t>(request.blocks.size())), in_place(request.in_place) {
  const auto place = [&](bool wanted) {
    return PlacedOutput::Place(wanted, rows, params.width, request.padding, 4, image);
  };
  blocks = place(true);
  for (int64_t row = 0; row < rows; ++row) {
    auto* const ids = image.At<int32_t>(blocks.offset) + row * blocks.row_stride;
    std::fill_n(ids, params.width, -1);
    std::copy(request.blocks[row].begin(), request.blocks[row].end(), ids);
  }
  out_blocks = in_place ? blocks : place(true);
  block_slots = place(request.wants_block_slots);
  pages = PlacePages(request.pages, image);
  lengths = image.Put(request.lengths);
  candidate_lengths = PlaceRowNumbers(request.wants_candidate_lengths, rows, image);
  report = PlaceReport(image);
}

SortBlocksSegment SortBlocksLayout::At(std::byte* base) const {
  SortBlocksSegment segment;
  segment.blocks = Pointer<int32_t>(base, blocks.offset);
  segment.blocks_row_stride = blocks.row_stride;
  segment.rows = rows;
  segment.lengths = Pointer<int32_t>(base, lengths);
  segment.pages = pages.At(base);
  segment.out_blocks = Pointer<int32_t>(base, out_blocks.offset);
  segment.block_slots = Pointer<int32_t>(base, block_slots.offset);
  segment.candidate_lengths = Pointer<int32_t>(base, candidate_lengths);
  segment.out_blocks_row_stride = out_blocks.row_stride;
  segment.block_slots_row_stride = block_slots.row_stride;
  segment.report = Pointer<SegmentReport>(base, report);
  return segment;
}

PublishLayout::PublishLayout(const PublishParams& params, const PublishRequest& request,
                             MemoryImage& image)
    : rows(static_cast<int32_t>(request.windows.size())), max_length(request.max_length) {
  scores = PlaceScores(params.dtype, request.windows, {}, request.columns, request.stride_padding,
                       request.misaligned_elements, image);
  pages = PlacePages(request.pages, image);
  lengths = PlaceLengths(request.lengths, request.windows, image);
  const auto place = [&](bool wanted, int32_t columns) {
    return PlacedOutput::Place(wanted, rows, columns, request.output_padding, 4, image);
  };
  indices = place(request.wants_indices, params.k);
  slots = place(request.wants_slots, params.k);
  blocks = place(request.wants_blocks, params.k_blocks);
  block_slots = place(request.wants_block_slots, params.k_blocks);
  candidate_lengths = PlaceRowNumbers(request.wants_candidate_lengths, rows, image);
  report = PlaceReport(image);
}

PublishSegment PublishLayout::At(std::byte* base) const {
  PublishSegment segment;
  segment.scores = base + scores.offset;
  segment.row_stride = scores.row_stride;
  segment.rows = rows;
  segment.columns = scores.columns;
  segment.lengths = Pointer<int32_t>(base, lengths);
  segment.pages = pages.At(base);
  segment.indices = Pointer<int32_t>(base, indices.offset);
  segment.slots = Pointer<int32_t>(base, slots.offset);
  segment.blocks = Pointer<int32_t>(base, blocks.offset);
  segment.block_slots = Pointer<int32_t>(base, block_slots.offset);
  segment.candidate_lengths = Pointer<int32_t>(base, candidate_lengths);
  segment.indices_row_stride = indices.row_stride;
  segment.slots_row_stride = slots.row_stride;
  segment.blocks_row_stride = blocks.row_stride;
  segment.block_slots_row_stride = block_slots.row_stride;
  segment.max_length = max_length;
  segment.report = Pointer<SegmentReport>(base, report);
  return segment;
}

}  // namespace winnow::contract
