// Writes one row's selection to the outputs that a request wants.

#ifndef WINNOW_KERNELS_CPU_ROW_OUTPUT_H_
#define WINNOW_KERNELS_CPU_ROW_OUTPUT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/cpu/row_rules.h"
#include "winnow/kernels/operations.h"

namespace winnow::cpu {

// Indices (position + offset), padded to k entries.
void WriteIndices(absl::Span<const int32_t> positions, int32_t offset, int32_t k, int32_t* indices);

// Block ids, padded to `width` entries.
void WriteBlocks(absl::Span<const int32_t> ids, int32_t width, int32_t* blocks);

// Slots of positions, padded to k entries with `padding`, which entries with a bad page id get too.
// `fault` keeps the first of these.
void WriteSlots(const SlotMapper& mapper, const int32_t* page_row,
                absl::Span<const int32_t> positions, int32_t k, int32_t padding, int32_t* slots,
                FaultRecord* fault);

// The scores at the positions, bit for bit, padded to k entries with -inf.
void WriteValues(DType dtype, const void* scores, absl::Span<const int32_t> positions, int32_t k,
                 void* values);

}  // namespace winnow::cpu

#endif  // WINNOW_KERNELS_CPU_ROW_OUTPUT_H_
