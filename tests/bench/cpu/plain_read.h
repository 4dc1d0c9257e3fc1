// The floor of every selection: reading the bytes once.

#ifndef WINNOW_TESTS_BENCH_CPU_PLAIN_READ_H_
#define WINNOW_TESTS_BENCH_CPU_PLAIN_READ_H_

#include <cstdint>

namespace winnow::bench {

// Sum of the 32-bit words of `bytes` bytes, in the widest vectors that the processor has.
uint32_t SumWords(const void* data, int64_t bytes);

}  // namespace winnow::bench

#endif  // WINNOW_TESTS_BENCH_CPU_PLAIN_READ_H_
