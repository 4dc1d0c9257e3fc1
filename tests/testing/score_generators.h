// Rows of scores that selection kernels find hard, by name.

#ifndef WINNOW_TESTS_TESTING_SCORE_GENERATORS_H_
#define WINNOW_TESTS_TESTING_SCORE_GENERATORS_H_

#include <cstdint>
#include <vector>

#include "tests/testing/random.h"

namespace winnow::testing {

enum class Pattern {
  kNormal,
  kAllEqual,
  kAllNegativeInfinity,
  kAllPositiveInfinity,
  kFewFinite,     // -inf but for a few
  kManyInfinite,  // +inf, 2,048 of them, among normal scores
  kNanFew,        // NaN of either sign, one score in 16
  kNanMany,       // seven scores in eight
  kNanOnly,
  kHalfMidpoints,  // half-way between an odd and an even half-precision neighbour
  kRelu,           // normal, negative ones cut to 0
  kNarrow,         // uniform in [1, 1.01]
  kRampUp,
  kRampDown,
  kPeriodic,  // high values at every position of some stride
  kDenormal,
  kBeyondHalf,    // beyond 65504, and below 6e-8
  kOneHalfBin,    // all round to the same half-precision value
  kSignedZeros,   // +0 and -0, few positive
  kFewWinners,    // 100 positive scores among zeros
  kSparseSpikes,  // mostly the smallest score, the rest huge
  kHeavyTail,
  kBestFirst,  // the first part of the row above all the rest
  kBestLast,
  kTwoValues,
};
inline constexpr int kPatternCount = 25;

const char* Name(Pattern pattern);
std::vector<Pattern> AllPatterns();

// `length` scores.
std::vector<float> MakeScores(Pattern pattern, int64_t length, Random& random);

// The bfloat16 nearest to `value`, ties to even; NaN stays NaN with its sign.
uint16_t ToBfloat16(float value);

// `count` different numbers in [0, limit), in random order.
std::vector<int32_t> DistinctNumbers(int64_t count, int64_t limit, Random& random);

}  // namespace winnow::testing

#endif  // WINNOW_TESTS_TESTING_SCORE_GENERATORS_H_
