// Judges what a device wrote for TopK requests.

#ifndef WINNOW_TESTS_CONTRACT_TOPK_CHECK_H_
#define WINNOW_TESTS_CONTRACT_TOPK_CHECK_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/contract/memory_image.h"
#include "tests/contract/topk_request.h"

namespace winnow::contract {

// Success when `after` is a right result of running `layouts` on `before`: the rows' selections as
// sets with free ties, or bit for bit when deterministic; everything but the outputs as it was.
// Blanks the outputs in both.
::testing::AssertionResult CheckTopK(const TopKParams& params,
                                     const std::vector<TopKLayout>& layouts, MemoryImage& before,
                                     MemoryImage& after);

// The same for row `row` of one segment, whose inputs are at `host` and whose outputs at `result`.
// `expected_indices` are the reference's for the row: positions plus the row's offset if indices
// are wanted.
::testing::AssertionResult CheckTopKRow(const TopKParams& params, const TopKSegment& host,
                                        const TopKSegment& result, const int32_t* expected_indices,
                                        int32_t row);

// A number that orders scores as operations.md does: NaN lowest, zeros equal.
int32_t OrderedKey(float score);

}  // namespace winnow::contract

#endif  // WINNOW_TESTS_CONTRACT_TOPK_CHECK_H_
