#include "tests/bench/cpu/plain_read.h"

namespace winnow::bench {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("arch=skylake-avx512", "avx2", "default"), optimize("O3")))
#endif
uint32_t
SumWords(const void* data, int64_t bytes) {
  const auto* words = static_cast<const uint32_t*>(data);
  const int64_t count = bytes / 4;
  // Four sums, so that additions do not wait for each other.
  uint32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
  const int64_t quarter = count / 4;
  for (int64_t begin = 0; begin < quarter; begin += 1024) {
    const int64_t end = begin + 1024 < quarter ? begin + 1024 : quarter;
    const uint32_t* part = words + 4 * begin;
    const int64_t length = end - begin;
    for (int64_t i = 0; i < length; ++i) {
      sum0 += part[i];
      sum1 += part[i + length];
      sum2 += part[i + 2 * length];
      sum3 += part[i + 3 * length];
    }
  }
  for (int64_t i = 4 * quarter; i < count; ++i) sum0 += words[i];
  return sum0 + sum1 + sum2 + sum3;
}

}  // namespace winnow::bench
