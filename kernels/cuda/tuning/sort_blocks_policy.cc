#include "kernels/cuda/tuning/sort_blocks_policy.h"

#include "absl/strings/str_cat.h"

namespace winnow::cuda {
namespace {

// Rows that leave most multiprocessors idle.
constexpr int64_t kFewRows = 16;

}  // namespace

SortBlocksPolicy ChooseSortBlocksPolicy(const DeviceTraits& traits, int64_t rows,
                                        int64_t max_blocks) {
  SortBlocksPolicy policy;
  // While every row has a multiprocessor to itself a row is a chain of latencies, shortest with
  // many threads; beyond that, small blocks keep more rows in flight.
  policy.threads = rows <= traits.multiprocessors ? 1024 : 512;
  // Clearing and scanning a bitmap costs its size: take the small one where it is enough.
  policy.bitmap_words = max_blocks > 0 && max_blocks <= 32 * 1024 ? 1024 : 4096;
  policy.release_early = rows <= kFewRows;
  return policy;
}

std::string ToString(const SortBlocksPolicy& policy) {
  return absl::StrCat("threads ", policy.threads, ", bitmap_words ", policy.bitmap_words,
                      policy.release_early ? ", release_early" : "");
}

}  // namespace winnow::cuda
