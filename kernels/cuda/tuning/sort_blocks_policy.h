// Which shape of the block sort serves a launch. A pure function: no GPU, no state.

#ifndef WINNOW_KERNELS_CUDA_TUNING_SORT_BLOCKS_POLICY_H_
#define WINNOW_KERNELS_CUDA_TUNING_SORT_BLOCKS_POLICY_H_

#include <cstdint>
#include <string>

#include "kernels/cuda/tuning/device_traits.h"

namespace winnow::cuda {

struct SortBlocksPolicy {
  int32_t threads = 0;       // of the block that sorts a row: 1024 or 512
  int32_t bitmap_words = 0;  // ids / 32 that one pass covers: 1024 or 4096
  // The next kernel of the stream may start while this one runs: worth it while most of the device
  // is idle anyway; with more rows its blocks take the place of rows that still wait.
  bool release_early = false;
  friend bool operator==(const SortBlocksPolicy&, const SortBlocksPolicy&) = default;
};

// `rows` share the launch; no row is believed to have more than `max_blocks` blocks (0: unknown).
// A row that has more is sorted in several passes: slower, and right.
SortBlocksPolicy ChooseSortBlocksPolicy(const DeviceTraits& traits, int64_t rows,
                                        int64_t max_blocks);

// "threads 1024, bitmap_words 4096, release_early".
std::string ToString(const SortBlocksPolicy& policy);

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_TUNING_SORT_BLOCKS_POLICY_H_
