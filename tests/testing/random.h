// Random numbers that are the same on every machine for the same seed, and the seeds themselves.

#ifndef WINNOW_TESTS_TESTING_RANDOM_H_
#define WINNOW_TESTS_TESTING_RANDOM_H_

#include <cstdint>

namespace winnow::testing {

// The number in environment variable `variable`, else one that differs from run to run. Printed
// on the first call for each variable, so that a failing run can be repeated.
uint64_t SeedFromEnvironment(const char* variable);

// xoshiro256**, seeded through splitmix64.
class Random {
 public:
  explicit Random(uint64_t seed);

  uint64_t Next();
  // Uniform in [0, limit); `limit` is positive. The bias is below 2^-32 for any limit a test uses.
  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(Next() % static_cast<uint64_t>(limit));
  }
  // Uniform in [low, high].
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  // Uniform in [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // Standard normal.
  float Normal();

 private:
  uint64_t state_[4];
};

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_TESTING_RANDOM_H_
