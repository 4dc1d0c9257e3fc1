#include "tests/contract/topk_request.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/testing/score_generators.h"

namespace winnow::contract {
namespace {

// What a matrix holds outside its windows: whatever would win, or spoil a comparison.
float Poison(int64_t i) {
  static constexpr float kPoison[] = {std::numeric_limits<float>::quiet_NaN(), 1e30f,
                                      std::numeric_limits<float>::infinity(),
                                      std::numeric_limits<float>::max()};
  return kPoison[i % 4];
}

uint16_t Bfloat16Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  // Exact ones keep every bit, NaN payloads too.
  return (bits & 0xffffu) == 0 ? static_cast<uint16_t>(bits >> 16) : testing::ToBfloat16(value);
}

void StoreScore(DType dtype, std::byte* base, int64_t index, float value) {
  if (dtype == DType::kBfloat16) {
    const uint16_t bits = Bfloat16Bits(value);
    std::memcpy(base + index * 2, &bits, 2);
  } else {
    std::memcpy(base + index * 4, &value, 4);
  }
}

}  // namespace

PageTable RandomPageTable(int32_t rows, int64_t positions, int32_t page_size,
                          testing::Random& random) {
  PageTable pages;
  pages.page_size = page_size;
  pages.columns =
      static_cast<int32_t>(std::max<int64_t>((positions + page_size - 1) / page_size, 1));
  const int64_t slot_limit = (int64_t{1} << 31) / page_size;
  pages.pool_pages =
      static_cast<int32_t>(std::min<int64_t>(slot_limit, 3 * int64_t{pages.columns} + 7));
  if (pages.pool_pages < pages.columns) pages.pool_pages = pages.columns;
  for (int32_t row = 0; row < rows; ++row) {
    for (const int32_t id : testing::DistinctNumbers(pages.columns, pages.pool_pages, random)) {
      pages.entries.push_back(id);
    }
  }
  return pages;
}

std::vector<int32_t> TopKRequest::Lengths() const {
  if (!lengths.empty()) return lengths;
  std::vector<int32_t> sizes;
  for (const auto& window : windows) sizes.push_back(static_cast<int32_t>(window.size()));
  return sizes;
}

TopKRequest NormalRequest(const std::vector<int32_t>& lengths, testing::Random& random) {
  TopKRequest request;
  for (const int32_t length : lengths) {
    request.windows.push_back(MakeScores(testing::Pattern::kNormal, length, random));
  }
  return request;
}

PlacedScores PlaceScores(DType dtype, const std::vector<std::vector<float>>& windows,
                         const std::vector<int32_t>& row_starts, int32_t columns,
                         int64_t stride_padding, int64_t misaligned_elements, MemoryImage& image) {
  const auto rows = static_cast<int64_t>(windows.size());
  const auto start_of = [&](int64_t row) { return row_starts.empty() ? 0 : row_starts[row]; };
  int64_t widest = 1;
  for (int64_t row = 0; row < rows; ++row) {
    widest = std::max<int64_t>(widest, start_of(row) + static_cast<int64_t>(windows[row].size()));
  }
  PlacedScores placed;
  placed.columns = columns > 0 ? columns : static_cast<int32_t>(widest);
  placed.row_stride = placed.columns + stride_padding;
  const int64_t elements = (rows - 1) * placed.row_stride + placed.columns;
  placed.offset = image.Reserve(elements * SizeOf(dtype), misaligned_elements * SizeOf(dtype));
  std::byte* base = image.At<std::byte>(placed.offset);
  for (int64_t i = 0; i < elements; ++i) StoreScore(dtype, base, i, Poison(i));
  for (int64_t row = 0; row < rows; ++row) {
    int64_t index = row * placed.row_stride + start_of(row);
    // A start that a test made invalid places nothing.
    if (start_of(row) < 0) continue;
    for (const float score : windows[row]) {
      if (index < elements) StoreScore(dtype, base, index, score);
      ++index;
    }
  }
  return placed;
}

PageTransform PlacedPages::At(std::byte* base) const {
  PageTransform pages = transform;
  pages.page_table = Pointer<int32_t>(base, table);
  pages.page_table_rows = Pointer<int32_t>(base, table_rows);
  return pages;
}

PlacedPages PlacePages(const PageTable& pages, MemoryImage& image) {
  PlacedPages placed;
  if (pages.page_size == 0) return placed;
  const auto rows = static_cast<int64_t>(pages.entries.size()) / pages.columns;
  placed.transform.page_size = pages.page_size;
  placed.transform.pool_pages = pages.pool_pages;
  placed.transform.table_columns = pages.columns;
  placed.transform.table_rows = static_cast<int32_t>(rows);
  placed.transform.row_stride = pages.columns + pages.stride_padding;
  placed.table = image.Reserve(rows * placed.transform.row_stride * 4);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(pages.entries.begin() + row * pages.columns, pages.columns,
                image.At<int32_t>(placed.table) + row * placed.transform.row_stride);
  }
  placed.table_rows = PlaceOptional(pages.table_rows, image);
  return placed;
}

int64_t PlaceOptional(const std::vector<int32_t>& values, MemoryImage& image) {
  return values.empty() ? -1 : image.Put(values);
}

PlacedOutput PlacedOutput::Place(bool wanted, int64_t rows, int64_t columns, int64_t padding,
                                 int64_t element_bytes, MemoryImage& image) {
  PlacedOutput output;
  if (!wanted) return output;
  output.rows = rows;
  output.columns = columns;
  output.row_stride = columns + padding;
  output.element_bytes = element_bytes;
  // One element past alignment: outputs need no more than their element's.
  output.offset = image.Reserve(rows * output.row_stride * element_bytes, element_bytes);
  return output;
}

void PlacedOutput::Blank(MemoryImage& image) const {
  if (offset < 0) return;
  for (int64_t row = 0; row < rows; ++row) {
    image.Blank(offset + row * row_stride * element_bytes, columns * element_bytes);
  }
}

TopKLayout::TopKLayout(const TopKParams& params, const TopKRequest& request, MemoryImage& image)
    : rows(request.rows()), max_length(request.max_length) {
  scores = PlaceScores(params.dtype, request.windows, request.row_starts, request.columns,
                       request.stride_padding, request.misaligned_elements, image);
  pages = PlacePages(request.pages, image);
  lengths = image.Put(request.Lengths());
  row_starts = PlaceOptional(request.row_starts, image);
  index_offsets = PlaceOptional(request.index_offsets, image);
  plan = request.plan.empty() ? -1 : image.Put(request.plan);
  const auto place = [&](bool wanted, int64_t element_bytes) {
    return PlacedOutput::Place(wanted, rows, params.k, request.output_padding, element_bytes,
                               image);
  };
  indices = place(request.wants_indices, 4);
  slots = place(request.wants_slots, 4);
  values = place(request.wants_values, SizeOf(params.dtype));
  report = image.Put(std::vector<SegmentReport>(1));
}

TopKSegment TopKLayout::At(std::byte* base) const {
  TopKSegment segment;
  segment.scores = base + scores.offset;
  segment.row_stride = scores.row_stride;
  segment.rows = rows;
  segment.columns = scores.columns;
  segment.lengths = Pointer<int32_t>(base, lengths);
  segment.row_starts = Pointer<int32_t>(base, row_starts);
  segment.index_offsets = Pointer<int32_t>(base, index_offsets);
  segment.pages = pages.At(base);
  segment.indices = Pointer<int32_t>(base, indices.offset);
  segment.slots = Pointer<int32_t>(base, slots.offset);
  segment.values = Pointer<void>(base, values.offset);
  segment.indices_row_stride = indices.row_stride;
  segment.slots_row_stride = slots.row_stride;
  segment.values_row_stride = values.row_stride;
  segment.plan = Pointer<std::byte>(base, plan);
  segment.max_length = max_length;
  segment.report = Pointer<SegmentReport>(base, report);
  return segment;
}

}  // namespace winnow::contract
