// Requests of the two-level indexer's operations as tests write them, and their places in a memory
// image. Next: block_check.h for the judgement of their results.

#ifndef WINNOW_TESTS_CONTRACT_BLOCK_REQUESTS_H_
#define WINNOW_TESTS_CONTRACT_BLOCK_REQUESTS_H_

#include <cstdint>
#include <vector>

#include "tests/contract/memory_image.h"
#include "tests/contract/topk_request.h"
#include "winnow/kernels/operations.h"

namespace winnow::contract {

struct BlockAmaxRequest {
  std::vector<std::vector<float>> windows;
  std::vector<int32_t> lengths;  // empty: the windows' sizes
  int32_t columns = 0;           // 0: the widest window
  int64_t stride_padding = 0;
  int64_t misaligned_elements = 0;
  int32_t keys_columns = 0;  // 0: what the columns need
  int64_t keys_padding = 0;
  bool wants_block_counts = true;
};

struct SortBlocksRequest {
  std::vector<std::vector<int32_t>> blocks;  // filled up with -1
  std::vector<int32_t> lengths;
  PageTable pages;
  bool in_place = false;
  bool wants_block_slots = false;
  bool wants_candidate_lengths = true;
  int64_t padding = 0;  // of every matrix
};

struct PublishRequest {
  std::vector<std::vector<float>> windows;
  std::vector<int32_t> lengths;
  int32_t columns = 0;
  int64_t stride_padding = 0;
  int64_t misaligned_elements = 0;
  PageTable pages;
  bool wants_indices = true;
  bool wants_slots = true;
  bool wants_blocks = true;
  bool wants_block_slots = true;
  bool wants_candidate_lengths = true;
  int64_t output_padding = 0;
  int32_t max_length = 0;
};

struct BlockAmaxLayout {
  BlockAmaxLayout(const BlockAmaxParams& params, const BlockAmaxRequest& request,
                  MemoryImage& image);
  BlockAmaxSegment At(std::byte* base) const;

  int32_t rows;
  PlacedScores scores;
  PlacedOutput keys;
  int64_t lengths, block_counts, report;
};

struct SortBlocksLayout {
  SortBlocksLayout(const SortBlocksParams& params, const SortBlocksRequest& request,
                   MemoryImage& image);
  SortBlocksSegment At(std::byte* base) const;

  int32_t rows;
  bool in_place;
  PlacedPages pages;
  PlacedOutput blocks, out_blocks, block_slots;
  int64_t lengths, candidate_lengths, report;
};

struct PublishLayout {
  PublishLayout(const PublishParams& params, const PublishRequest& request, MemoryImage& image);
  PublishSegment At(std::byte* base) const;

  int32_t rows;
  PlacedScores scores;
  PlacedPages pages;
  PlacedOutput indices, slots, blocks, block_slots;
  int64_t lengths, candidate_lengths, report;
  int32_t max_length;
};

// The sizes of the windows.
std::vector<int32_t> SizesOf(const std::vector<std::vector<float>>& windows);

}  // namespace winnow::contract

#endif  // WINNOW_TESTS_CONTRACT_BLOCK_REQUESTS_H_
