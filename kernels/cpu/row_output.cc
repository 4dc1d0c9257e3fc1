#include "kernels/cpu/row_output.h"

#include <algorithm>

namespace winnow::cpu {
namespace {

template <typename Element>
void GatherValues(const void* scores, absl::Span<const int32_t> positions, int32_t k,
                  Element padding, void* values) {
  const auto* from = static_cast<const Element*>(scores);
  auto* to = static_cast<Element*>(values);
  for (size_t i = 0; i < positions.size(); ++i) to[i] = from[positions[i]];
  std::fill(to + positions.size(), to + k, padding);
}

}  // namespace

void WriteIndices(absl::Span<const int32_t> positions, int32_t offset, int32_t k,
                  int32_t* indices) {
  for (size_t i = 0; i < positions.size(); ++i) indices[i] = positions[i] + offset;
  std::fill(indices + positions.size(), indices + k, kPaddingIndex);
}

void WriteBlocks(absl::Span<const int32_t> ids, int32_t width, int32_t* blocks) {
  std::copy(ids.begin(), ids.end(), blocks);
  std::fill(blocks + ids.size(), blocks + width, kPaddingBlock);
}

void WriteSlots(const SlotMapper& mapper, const int32_t* page_row,
                absl::Span<const int32_t> positions, int32_t k, int32_t padding, int32_t* slots,
                FaultRecord* fault) {
  for (size_t i = 0; i < positions.size(); ++i) {
    FaultRecord found;
    found.row = fault->row;
    const int32_t slot = mapper.Map(page_row, positions[i], &found);
    slots[i] = slot < 0 ? padding : slot;
    if (slot < 0 && fault->kind == static_cast<int32_t>(FaultKind::kNone)) *fault = found;
  }
  std::fill(slots + positions.size(), slots + k, padding);
}

void WriteValues(DType dtype, const void* scores, absl::Span<const int32_t> positions, int32_t k,
                 void* values) {
  // Moved as bits, so that a NaN keeps its payload.
  if (dtype == DType::kBfloat16) {
    GatherValues<uint16_t>(scores, positions, k, 0xff80, values);
  } else {
    GatherValues<uint32_t>(scores, positions, k, 0xff800000u, values);
  }
}

}  // namespace winnow::cpu
