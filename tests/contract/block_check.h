// Judges what a device wrote for the two-level indexer's operations.

#ifndef WINNOW_TESTS_CONTRACT_BLOCK_CHECK_H_
#define WINNOW_TESTS_CONTRACT_BLOCK_CHECK_H_

#include <gtest/gtest.h>

#include <vector>

#include "tests/contract/block_requests.h"
#include "tests/contract/memory_image.h"

namespace winnow::contract {

// Success when `after` is a right result of running `layouts` on `before`, and all memory but the
// outputs is as it was. Keys are compared as numbers, everything else bit for bit; without
// `deterministic` a publish's selections are compared as sets with free ties. Changes both images.
::testing::AssertionResult CheckBlockAmaxRun(const BlockAmaxParams& params,
                                             const std::vector<BlockAmaxLayout>& layouts,
                                             MemoryImage& before, MemoryImage& after);
::testing::AssertionResult CheckSortBlocksRun(const SortBlocksParams& params,
                                              const std::vector<SortBlocksLayout>& layouts,
                                              MemoryImage& before, MemoryImage& after);
::testing::AssertionResult CheckPublishRun(const PublishParams& params,
                                           const std::vector<PublishLayout>& layouts,
                                           MemoryImage& before, MemoryImage& after);

}  // namespace winnow::contract

#endif  // WINNOW_TESTS_CONTRACT_BLOCK_CHECK_H_
