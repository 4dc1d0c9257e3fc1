// A TopK request as a test writes it, and its place in a memory image.
// Next: topk_check.h for the judgement of its result.

#ifndef WINNOW_TESTS_CONTRACT_TOPK_REQUEST_H_
#define WINNOW_TESTS_CONTRACT_TOPK_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/contract/memory_image.h"
#include "tests/testing/random.h"
#include "winnow/kernels/operations.h"

namespace winnow::contract {

struct PageTable {
  int32_t page_size = 0;  // 0: no table
  int32_t columns = 0;
  int32_t pool_pages = 0;
  int64_t stride_padding = 0;
  std::vector<int32_t> entries;     // rows of the table one after another
  std::vector<int32_t> table_rows;  // of each score row; empty: absent
};

// `rows` rows of different pages that hold `positions` positions each.
PageTable RandomPageTable(int32_t rows, int64_t positions, int32_t page_size,
                          testing::Random& random);

struct TopKRequest {
  std::vector<std::vector<float>> windows;  // valid scores of each row
  std::vector<int32_t> lengths;             // empty: the windows' sizes
  int32_t columns = 0;                      // 0: the end of the widest window
  std::vector<int32_t> row_starts;          // empty: absent
  std::vector<int32_t> index_offsets;       // empty: absent
  PageTable pages;
  bool wants_indices = true;
  bool wants_slots = false;
  bool wants_values = false;
  int64_t stride_padding = 0;       // elements between the columns and the next row
  int64_t misaligned_elements = 0;  // of the scores, past a multiple of 256 bytes
  int64_t output_padding = 0;       // elements between k and the next row of each output
  std::vector<std::byte> plan;      // empty: none
  int32_t max_length = 0;

  int32_t rows() const { return static_cast<int32_t>(windows.size()); }
  std::vector<int32_t> Lengths() const;
};

// Rows of `lengths` scores of standard normal.
TopKRequest NormalRequest(const std::vector<int32_t>& lengths, testing::Random& random);

// Scores in memory: windows in place, everything else NaN, infinities and huge numbers.
struct PlacedScores {
  int64_t offset = 0;
  int64_t row_stride = 0;
  int32_t columns = 0;
};
PlacedScores PlaceScores(DType dtype, const std::vector<std::vector<float>>& windows,
                         const std::vector<int32_t>& row_starts, int32_t columns,
                         int64_t stride_padding, int64_t misaligned_elements, MemoryImage& image);

struct PlacedPages {
  PageTransform transform;  // with pointers null
  int64_t table = -1;
  int64_t table_rows = -1;
  PageTransform At(std::byte* base) const;
};
PlacedPages PlacePages(const PageTable& pages, MemoryImage& image);

// Offset of `values`, -1 when there are none; and back to a pointer.
int64_t PlaceOptional(const std::vector<int32_t>& values, MemoryImage& image);
template <typename T>
T* Pointer(std::byte* base, int64_t offset) {
  return offset < 0 ? nullptr : static_cast<T*>(static_cast<void*>(base + offset));
}

// An output matrix; `offset` is -1 when it is not wanted.
struct PlacedOutput {
  int64_t offset = -1;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 0;
  int64_t element_bytes = 4;

  static PlacedOutput Place(bool wanted, int64_t rows, int64_t columns, int64_t padding,
                            int64_t element_bytes, MemoryImage& image);
  // Zeroes the cells, not what lies between rows.
  void Blank(MemoryImage& image) const;
};

// The request inside an image.
struct TopKLayout {
  TopKLayout(const TopKParams& params, const TopKRequest& request, MemoryImage& image);
  TopKSegment At(std::byte* base) const;

  int32_t rows;
  PlacedScores scores;
  PlacedPages pages;
  PlacedOutput indices, slots, values;
  int64_t lengths, row_starts, index_offsets, plan, report;
  int32_t max_length;
};

}  // namespace winnow::contract

#endif  // WINNOW_TESTS_CONTRACT_TOPK_REQUEST_H_
