// TopK as docs/operations.md tells it. Next: reference_blocks.cc.

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/cpu/row_rules.h"
#include "winnow/kernels/reference.h"
#include "winnow/kernels/status_macros.h"

namespace winnow::reference {
namespace {

// Positions of the k best scores of the row in the order asked for.
std::vector<int32_t> SelectPositions(const TopKParams& params, const void* scores, int32_t length) {
  std::vector<int32_t> positions(length);
  std::iota(positions.begin(), positions.end(), 0);
  const auto better = [&](int32_t a, int32_t b) {
    const float score_a = cpu::LoadScore(params.dtype, scores, a);
    const float score_b = cpu::LoadScore(params.dtype, scores, b);
    if (cpu::RanksAbove(score_a, score_b)) return true;
    if (cpu::RanksAbove(score_b, score_a)) return false;
    return a < b;
  };
  if (length > params.k) {
    std::nth_element(positions.begin(), positions.begin() + params.k, positions.end(), better);
    positions.resize(params.k);
  }
  if (params.order == Order::kScore) {
    std::sort(positions.begin(), positions.end(), better);
  } else {
    std::sort(positions.begin(), positions.end());
  }
  return positions;
}

void PadValue(const TopKParams& params, void* values, int64_t index) {
  if (params.dtype == DType::kBfloat16) {
    static_cast<uint16_t*>(values)[index] = 0xff80;
  } else {
    static_cast<float*>(values)[index] = -std::numeric_limits<float>::infinity();
  }
}

void WriteRow(const TopKParams& params, const TopKSegment& segment, int32_t row,
              const cpu::RowWindow& window, const std::vector<int32_t>& positions,
              const void* scores, cpu::FaultSink& faults) {
  const cpu::SlotMapper mapper(segment.pages, segment.pages.page_size);
  const int64_t element = SizeOf(params.dtype);
  for (int32_t i = 0; i < params.k; ++i) {
    const bool padding = i >= static_cast<int32_t>(positions.size());
    if (segment.indices != nullptr) {
      segment.indices[row * segment.indices_row_stride + i] =
          padding ? kPaddingIndex : positions[i] + window.offset;
    }
    if (segment.slots != nullptr) {
      int32_t slot = kPaddingIndex;
      if (!padding) {
        FaultRecord fault;
        fault.row = row;
        slot = mapper.Map(window.pages, positions[i], &fault);
        faults.Record(fault);
      }
      segment.slots[row * segment.slots_row_stride + i] = slot;
    }
    if (segment.values != nullptr) {
      const int64_t index = row * segment.values_row_stride + i;
      if (padding) {
        PadValue(params, segment.values, index);
      } else {
        std::memcpy(static_cast<char*>(segment.values) + index * element,
                    static_cast<const char*>(scores) + positions[i] * element, element);
      }
    }
  }
}

}  // namespace

absl::Status TopK(const TopKParams& params, const TopKSegment& segment) {
  WINNOW_RETURN_IF_ERROR(CheckTopK(params, {&segment, 1}));
  cpu::FaultSink faults(segment.report);
  for (int32_t row = 0; row < segment.rows; ++row) {
    const cpu::RowWindow window = cpu::FindWindow(params, segment, row);
    faults.Record(window.fault);
    if (window.negative) ++segment.report->negative_rows;
    const void* scores = cpu::RowAt(segment.scores, params.dtype, segment.row_stride, row);
    scores = static_cast<const char*>(scores) + window.start * SizeOf(params.dtype);
    WriteRow(params, segment, row, window, SelectPositions(params, scores, window.length), scores,
             faults);
  }
  return absl::OkStatus();
}

}  // namespace winnow::reference
